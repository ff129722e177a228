"""A backend that is TLS is cancelled over TLS, verified as its own connection was, or not at all."""

import shutil

import pytest

from support.certificates import Authority
from support.messages import Q, codes
from support.relay import CANCEL_CODE, Relay
from support.tls import serve_tls
from support.waiting import until
from support.wire import Address

pytestmark = pytest.mark.needs_proxy

FAILED = "pgbulkhead_backend_cancels_failed_total"
# `allow` tries without TLS first.
LOGIN_BY_CERTIFICATE = """
hostssl   all alice 127.0.0.1/32 trust clientcert=verify-ca
hostnossl all alice 127.0.0.1/32 reject
"""


@pytest.fixture(scope="module")
def authority(own_postgres, tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def server(own_postgres, authority):
    """PostgreSQL with TLS, at which alice needs a certificate."""
    hba = (own_postgres.directory / "data/pg_hba.conf").read_text()
    identity = authority.issue("localhost")
    serve_tls(own_postgres, authority.root, identity, LOGIN_BY_CERTIFICATE + hba)
    return own_postgres


@pytest.fixture
def relay(server):
    with Relay(server.address) as relay:
        yield relay


def start(new_proxy, connect, server, relay, authority, sslmode, root=None):
    certificate, key = authority.issue("alice")
    conninfo = (
        f"host=localhost hostaddr=127.0.0.1 port={relay.address.port} sslmode={sslmode}"
        f" sslrootcert={root or authority.root} sslcert={certificate} sslkey={key}"
    )
    entry = {"conninfo": conninfo, "cancel_timeout": "3s"}
    proxy = new_proxy(server, {"databases": {"*": entry}})
    session = connect(proxy)
    session.send(Q("select pg_sleep(60)"))
    until(lambda: server.running("pg_sleep"), what="the statement runs")
    return proxy, session


@pytest.mark.parametrize("sslmode", ["allow", "prefer", "require", "verify-ca", "verify-full"])
def test_no_cancel_crosses_in_the_clear(server, relay, new_proxy, connect, authority, sslmode):
    proxy, session = start(new_proxy, connect, server, relay, authority, sslmode)
    before = relay.connections
    assert session.cancel() == b""
    got = session.until("Z")
    assert codes(got)[-2:] == ["57014", "Z"]
    assert session.value("select ssl from pg_stat_ssl where pid = pg_backend_pid()") == "t"
    assert relay.connections == before + 1
    assert CANCEL_CODE not in relay.clear_bytes()
    assert proxy.metrics().sum(FAILED) == 0


def test_an_authority_that_is_trusted_no_more_ends_the_cancel_and_nothing_else(
    server, relay, new_proxy, connect, authority, tmp_path
):
    root = tmp_path / "root.crt"
    shutil.copy(authority.root, root)
    proxy, session = start(new_proxy, connect, server, relay, authority, "verify-full", root)
    shutil.copy(Authority(tmp_path, "other").root, root)
    assert session.cancel() == b""
    assert proxy.metrics().sum(FAILED) == 1
    assert "cancel_failed" in proxy.log() and "certificate verify failed" in proxy.log()
    assert server.running("pg_sleep") == 1
    assert session.quiet(0.1) is None
    assert CANCEL_CODE not in relay.clear_bytes()
    shutil.copy(authority.root, root)
    session.cancel()
    assert codes(session.until("Z"))[-2:] == ["57014", "Z"]
    proxy.assert_clean()


@pytest.mark.parametrize("sslmode, struck", [("require", False), ("prefer", True)])
def test_a_server_whose_tls_is_gone_hears_a_clear_cancel_only_by_prefer(
    server, relay, new_proxy, connect, authority, sslmode, struck
):
    """PostgreSQL answers N to an SSLRequest once ssl is off; open backends stay TLS."""
    proxy, session = start(new_proxy, connect, server, relay, authority, sslmode)
    server.sql("alter system set ssl = off")
    server.sql("select pg_reload_conf()")
    try:
        until(lambda: _answer_to_ssl_request(server.address) == b"N", what="TLS is off")
        assert session.cancel() == b""
        assert proxy.metrics().sum(FAILED) == (0 if struck else 1)
        assert (CANCEL_CODE in relay.clear_bytes()) == struck
        assert struck or server.running("pg_sleep") == 1
    finally:
        server.sql("alter system set ssl = on")
        server.sql("select pg_reload_conf()")
    until(lambda: _answer_to_ssl_request(server.address) == b"S", what="TLS is on again")
    if not struck:
        session.cancel()
    assert codes(session.until("Z"))[-2:] == ["57014", "Z"]


def _answer_to_ssl_request(address: Address):
    with address.connect() as sock:
        sock.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
        return sock.recv(1)
