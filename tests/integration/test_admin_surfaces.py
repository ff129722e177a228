"""HTTP: who may see what and change what. A browser on this machine is the attacker that reaches
loopback; slow and many peers are the other."""

import json
import socket

import pytest

from support.proxy import run
from support.reloads import attempts, changed, put
from support.requests import give_token, request
from support.secrets import secret
from support.waiting import Stopwatch, free_port, until

pytestmark = pytest.mark.needs_proxy

TOKEN = secret("a-token-of-32-bytes-for-one-test")
RELOAD = "/api/v1/reload"
JSON = {"Content-Type": "application/json"}
BEARER = {**JSON, "Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def proxy(postgres, module_proxy):
    probes = free_port()
    proxy = module_proxy(postgres, {"admin": {"probes": f"127.0.0.1:{probes}"}})
    proxy.probes_port = probes
    give_token(proxy, TOKEN)
    return proxy


def ask(proxy, method, path, headers=(), body=None, **options):
    return request(proxy.admin_port, method, path, headers, body, **options)


def post(proxy, headers=BEARER, body=b"{}", **options):
    return ask(proxy, "POST", RELOAD, headers, body, **options)


# ---- who may look


def test_a_foreign_host_sees_nothing(proxy):
    """DNS rebinding: a page's own name is made to lead to 127.0.0.1, and its scripts may read."""
    for path in ("/healthz", "/metrics", "/api/v1/holders", RELOAD, "/nowhere"):
        for host in ("evil.example", "evil.example:9432", "127.0.0.1.evil.example"):
            reply = ask(proxy, "GET", path, host=host)
            assert reply.status == 403 and "workload" not in reply.body, (path, host)


def test_loopback_names_and_addresses_see_it(proxy):
    for host in ("127.0.0.1", "localhost:1", "[::1]:9432", "10.0.0.7"):
        assert ask(proxy, "GET", "/healthz", host=host).status == 200, host


def test_a_request_without_a_host_is_a_bad_one(proxy):
    assert ask(proxy, "GET", "/metrics", host=None).status == 400


def test_no_answer_may_be_read_by_another_site(proxy):
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        for method in ("GET", "OPTIONS", "POST"):
            reply = ask(proxy, method, "/metrics", headers)
            assert not [name for name in reply.headers if name.startswith("access-control")]
            if headers:
                assert reply.status == 403


def test_probes_answer_to_any_name_and_show_health_and_metrics_alone(proxy):
    def probe(method, path, headers=()):
        return request(proxy.probes_port, method, path, headers, host="pod.example")

    for path in ("/healthz", "/readyz", "/metrics"):
        assert probe("GET", path).status == 200
    assert probe("GET", "/api/v1/holders").status == 404
    assert probe("GET", RELOAD).status == 404
    assert probe("POST", RELOAD, BEARER).status == 405
    assert probe("POST", "/healthz").status == 405


# ---- who may change


def test_a_reload_over_http_says_what_has_changed(proxy):
    put(proxy, changed(proxy, {"limits": {"client_idle_timeout": "7m"}}))
    # The file's watch may have been quicker.
    until(lambda: attempts(proxy, "success") > 0, what="the file was loaded")
    reply = post(proxy)
    assert reply.status == 200, reply
    answer = json.loads(reply.body)
    assert answer["reloaded"] is True and answer["complaints"] == []
    assert reply.headers["content-type"].startswith("application/json")


def test_a_change_that_waits_for_a_restart_is_told(proxy):
    before = proxy.budgets
    put(proxy, changed(proxy, {"limits": {"tcp_keepalive": "7m"}}))
    answer = json.loads(post(proxy).body)
    assert answer["restart_needed"] == 1, answer
    change = answer["changes"][0]
    assert (change["key"], change["after"]) == ("limits.tcp_keepalive", "7m")
    assert change["in_force"] is False
    proxy.budgets = before
    put(proxy, json.dumps(before))
    assert json.loads(post(proxy).body)["restart_needed"] == 0


def test_a_file_with_mistakes_is_refused_with_their_places(proxy):
    good = proxy.file.read_text()
    put(proxy, "{workloads: [{name: default, concurency: 1}]}")
    reply = post(proxy)
    assert reply.status == 422
    answer = json.loads(reply.body)
    assert answer["reloaded"] is False and answer["changes"] == []
    mistake = answer["complaints"][0]
    assert mistake["code"].startswith("PGB-CFG-") and mistake["line"] == 1
    put(proxy, good)
    assert post(proxy).status == 200


def wrong_tokens():
    return ["", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer", TOKEN]


def test_without_the_token_nothing_is_loaded(proxy):
    before = attempts(proxy)
    for authorization in wrong_tokens():
        reply = post(proxy, {**JSON, "Authorization": authorization})
        assert reply.status == 401 and reply.headers["www-authenticate"] == "Bearer"
    assert post(proxy, JSON).status == 401
    assert attempts(proxy) == before


def test_other_sites_forms_and_methods_are_told_apart(proxy):
    before = attempts(proxy)
    assert post(proxy, {**BEARER, "Origin": "http://evil.example"}).status == 403
    assert post(proxy, {**BEARER, "Origin": "null"}).status == 403
    assert post(proxy, host="evil.example").status == 403
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert post(proxy, {**BEARER, **form}).status == 415
    assert post(proxy, {**BEARER, "Content-Type": "text/plain"}).status == 415
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        reply = ask(proxy, method, RELOAD, BEARER)
        assert reply.status == 405 and reply.headers["allow"] == "POST", method
    assert attempts(proxy) == before
    own = {**BEARER, "Origin": "http://127.0.0.1:9432"}
    assert post(proxy, own).status == 200


def test_a_body_is_never_kept(proxy):
    assert post(proxy, body=b"x" * 200_000).status in (200, 413)
    assert ask(proxy, "POST", "/healthz", JSON, b"x" * 200_000).status == 405


def test_a_token_that_was_rotated_counts_at_once(proxy):
    file = proxy.directory / "token"
    other = TOKEN[::-1]
    try:
        file.write_text(other)
        assert post(proxy).status == 401
        assert post(proxy, {**JSON, "Authorization": f"Bearer {other}"}).status == 200
        # Too short, and no file at all: nobody may change anything.
        file.write_text("short")
        assert post(proxy, {**JSON, "Authorization": "Bearer short"}).status == 403
        file.unlink()
        assert post(proxy, {**JSON, "Authorization": "Bearer "}).status == 403
    finally:
        file.write_text(TOKEN)


def test_without_a_token_file_nothing_can_be_changed(postgres, new_proxy):
    proxy = new_proxy(postgres)
    assert post(proxy).status == 403


# ---- slow and many peers


def test_slow_peers_leave_healthz_reachable(proxy):
    """Each would be given time anew with each byte; a connection has an end instead."""
    peers = [socket.create_connection(("127.0.0.1", proxy.admin_port)) for _ in range(8)]
    try:
        for peer in peers:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        with Stopwatch() as watch:
            assert proxy.get("/healthz")[0] == 200
        # Two rounds of four workers that wait two seconds each.
        assert watch.seconds < 30
        assert request(proxy.probes_port, "GET", "/healthz").status == 200
    finally:
        for peer in peers:
            peer.close()


def test_headers_without_end_are_refused(proxy):
    with socket.create_connection(("127.0.0.1", proxy.admin_port)) as peer:
        peer.settimeout(20)
        try:
            peer.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 1_000_000 + b"\r\n\r\n")
            assert not peer.recv(100).startswith(b"HTTP/1.1 200")
        except OSError:
            pass
    assert proxy.get("/healthz")[0] == 200


def test_an_address_beyond_loopback_is_warned_about(unstarted):
    proxy = unstarted({"admin": {"http": f"0.0.0.0:{free_port()}"}})
    done = run("check", "-c", proxy.file)
    assert done.returncode == 0 and "PGB-CFG-047" in done.stderr + done.stdout
