"""The HTTP addresses with TLS."""

import socket
import urllib.request

import pytest

from support.proxy import run
from support.tls import client_context
from support.waiting import PATIENCE

pytestmark = pytest.mark.needs_proxy


def https(proxy, path, context):
    try:
        with urllib.request.urlopen(
            f"https://localhost:{proxy.admin_port}{path}", timeout=5 * PATIENCE, context=context
        ) as reply:
            return reply.status, reply.read().decode()
    except OSError as error:
        return 0, str(error)


@pytest.fixture
def new_https_proxy(unstarted, identity, monkeypatch):
    """A proxy whose HTTP addresses have TLS; looked at through a client of its own."""

    def make(context, **tls):
        certificate, key = map(str, identity)
        proxy = unstarted({"admin": {"tls": {"cert": certificate, "key": key, **tls}}})
        monkeypatch.setattr(proxy, "get", lambda path: https(proxy, path, context))
        proxy.start()
        return proxy

    return make


def test_https_serves_what_http_does(new_https_proxy, authority):
    context = client_context(authority.root)
    proxy = new_https_proxy(context)
    assert proxy.get("/healthz")[0] == 200
    assert "pgbulkhead_clients" in proxy.get("/metrics")[1]
    plain = socket.create_connection(("127.0.0.1", proxy.admin_port), timeout=5 * PATIENCE)
    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert not plain.recv(4096).startswith(b"HTTP"), "an alert, or nothing"
    plain.close()


def test_streams_and_top_speak_tls_too(new_https_proxy, authority):
    context = client_context(authority.root)
    proxy = new_https_proxy(context)
    address = f"https://localhost:{proxy.admin_port}"
    with urllib.request.urlopen(
        f"{address}/api/v1/events", timeout=5 * PATIENCE, context=context
    ) as reply:
        assert reply.readline() == b"retry: 1000\n"
        assert any(reply.readline().startswith(b"event: state") for _ in range(3))
    done = run("top", "--once", "--admin", address, "--ca", authority.root)
    assert done.returncode == 0 and "default" in done.stdout, done.stderr
    assert run("top", "--once", "--admin", address).returncode == 1, "nobody vouches for it"


def test_https_demands_a_certificate_where_there_are_authorities(new_https_proxy, authority):
    known = client_context(authority.root, identity=authority.issue("prometheus"))
    proxy = new_https_proxy(known, client_ca=str(authority.root))
    assert proxy.get("/healthz")[0] == 200
    assert https(proxy, "/healthz", client_context(authority.root))[0] == 0
