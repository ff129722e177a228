"""The API of the live page: the state of everything, as it is and as a stream, and changes of a workload."""

import json
import socket

import pytest

from support.lanes import Holder, check_refusal
from support.messages import Q
from support.proxy import run
from support.reloads import reload
from support.requests import give_token, request
from support.secrets import secret
from support.waiting import PATIENCE, free_port, until
from support.wire import ServerError

pytestmark = pytest.mark.needs_proxy

TOKEN = secret("a-token-of-32-bytes-for-changes")
JSON = {"Content-Type": "application/json"}
BEARER = {**JSON, "Authorization": f"Bearer {TOKEN}"}
WORD = "hunter3"
WORKLOADS = [
    {"name": "tight", "match": {"application_name": "tight"}, "concurrency": 2, "queue": 0},
    {"name": "default", "concurrency": 8, "queue": 16},
]


@pytest.fixture(scope="module")
def proxy(postgres, module_proxy):
    probes = free_port()
    proxy = module_proxy(postgres, {"workloads": WORKLOADS, "admin": {"probes": f"127.0.0.1:{probes}"}})
    proxy.probes_port = probes
    give_token(proxy, TOKEN)
    return proxy


def ask(proxy, path, method="GET", headers=(), body=None, **options):
    return request(proxy.admin_port, method, path, headers, body, **options)


def state(proxy):
    reply = ask(proxy, "/api/v1/state")
    assert reply.status == 200, reply
    return json.loads(reply.body)


def workload(state, name):
    return next(each for each in state["workloads"] if each["name"] == name)


# ---- the state


def test_the_state_tells_who_is_refused_and_who_holds(proxy, connect):
    holders = [Holder(connect, proxy, "tight") for _ in range(2)]
    holders[0].session.query(f"select '{WORD}'")
    refused = connect(proxy, application_name="tight")
    refused.send(Q("select 1 + 0"))
    check_refusal(refused.until("Z")[0], "tight", "queue_full")
    now = state(proxy)
    tight = workload(now, "tight")
    assert (tight["mode"], tight["concurrency"], tight["queue"]) == ("enforce", 2, 0)
    assert tight["running"] == tight["peak_running"] == 2 and tight["waiting"] == 0
    assert tight["rejected"]["queue_full"] >= 1 and tight["admitted"] >= 2
    assert tight["wait_seconds"]["count"] >= 2 and tight["wait_seconds"]["p99"] >= 0
    oldest = [each for each in now["holders"]["oldest"] if each["workload"] == "tight"]
    assert [each["state"] for each in oldest] == ["idle_in_transaction"] * 2
    assert "select ?" in [each["statement"] for each in oldest]
    assert WORD not in json.dumps(now)
    assert now["readiness"] == "ready" and now["clients"] >= 3
    pool = next(each for each in now["pools"] if each["user"] == "alice")
    assert pool["backends"]["lent"] == 2 and pool["sessions"] >= 3
    assert now["databases"][0]["reachable"] is True
    began = [each for each in now["events"] if each["kind"] == "overload_began"]
    assert began[0]["subject"] == "tight" and "running 2 of 2" in began[0]["text"]
    for holder in holders:
        holder.release()


def test_the_probes_have_neither_state_nor_page(proxy):
    for path in ("/", "/api/v1/state", "/api/v1/events", "/api/v1/workloads/tight", "/assets/main.js"):
        assert request(proxy.probes_port, "GET", path).status == 404, path


def test_the_page_comes_from_the_binary_and_may_load_nothing_else(proxy):
    reply = ask(proxy, "/")
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "unsafe" not in reply.headers["content-security-policy"]
    again = ask(proxy, "/", headers={"If-None-Match": reply.headers["etag"]})
    assert again.status == 304 and again.body == ""
    assert ask(proxy, "/assets/uPlot.iife.min.js").status == 200
    assert ask(proxy, "/assets/nothing.js").status == 404
    assert ask(proxy, "/", "POST").status == 405
    assert ask(proxy, "/", host="evil.example").status == 403


def test_a_reload_and_an_unreachable_server_are_told(postgres, new_proxy, connect):
    nobody = {"*": {"conninfo": f"host=127.0.0.1 port={free_port()}", "pool_size": 3}}
    proxy = new_proxy(postgres, {"databases": nobody})
    with pytest.raises(ServerError):
        connect(proxy)
    down = state(proxy)
    assert down["databases"][0]["reachable"] is False and down["readiness"] == "backend_down"
    assert (down["events"][0]["kind"], down["events"][0]["subject"]) == ("backend_down", "*")
    reload(proxy, {"limits": {"client_idle_timeout": "7m"}})
    told = state(proxy)["events"][0]
    assert told["kind"] == "reloaded" and "limits.client_idle_timeout: " in told["text"]


# ---- top


def test_top_tells_the_same_in_a_terminal(proxy, connect):
    hostile = connect(proxy, application_name="\x1b]0;hi\x07")
    hostile.query("begin")
    hostile.query(f"select '{WORD}'")
    admin = f"http://127.0.0.1:{proxy.admin_port}"
    done = run("top", "--once", "--admin", admin, env={"COLUMNS": "140"})
    assert done.returncode == 0, done.stderr
    assert "WORKLOAD" in done.stdout and "tight" in done.stdout and "idle_in_transaction" in done.stdout
    assert "select ?" in done.stdout and WORD not in done.stdout
    assert not [c for c in done.stdout if c != "\n" and (ord(c) < 32 or ord(c) == 127)]
    narrow = run("top", "--once", "--admin", admin, env={"COLUMNS": "40"})
    assert narrow.returncode == 0 and max(map(len, narrow.stdout.splitlines())) <= 40
    hostile.query("rollback")


def test_top_says_when_there_is_no_proxy():
    done = run("top", "--once", "--admin", f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 1 and done.stdout == "" and "127.0.0.1" in done.stderr
    assert run("top", "--once", "--admin", "nonsense:").returncode == 1


# ---- the stream


class Stream:
    """A reader of /api/v1/events."""

    def __init__(self, proxy):
        self.socket = socket.create_connection(("127.0.0.1", proxy.admin_port), timeout=20 * PATIENCE)
        self.socket.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self._bytes = b""
        self.head = self.until(b"\r\n\r\n").decode()

    def until(self, mark):
        while mark not in self._bytes:
            more = self.socket.recv(65536)
            assert more, f"it ended after {self._bytes[-200:]!r}"
            self._bytes += more
        text, _, self._bytes = self._bytes.partition(mark)
        return text

    def state(self):
        """The next one."""
        while True:
            frame = self.until(b"\n\n").decode()
            if frame.startswith("event: state\ndata: "):
                return json.loads(frame.partition("data: ")[2])

    def close(self):
        self.socket.close()


def test_a_stream_tells_the_state_each_second(proxy):
    stream = Stream(proxy)
    assert " 200 " in stream.head and "text/event-stream" in stream.head
    assert "Content-Length" not in stream.head and "no-store" in stream.head
    assert stream.until(b"\n\n") == b"retry: 1000"
    first, second = stream.state(), stream.state()
    assert second["at"] > first["at"] and first["instance"] == second["instance"]
    assert first["events"][-1]["kind"] == "started"
    stream.close()


def test_as_many_streams_as_there_may_be_leave_room_for_probes(proxy):
    streams = []
    while len(streams) < 64:
        streams.append(Stream(proxy))
        if " 503 " in streams[-1].head:
            break
    assert len(streams) == 33
    assert ask(proxy, "/metrics").status == 200
    streams[-2].state()
    for stream in streams:
        stream.close()
    # Their places are free again.
    def has_room():
        stream = Stream(proxy)
        stream.close()
        return " 200 " in stream.head

    until(has_room, what="there is room again")


def test_only_get_has_a_stream_and_only_for_hosts_of_ours(proxy):
    assert ask(proxy, "/api/v1/events", host="evil.example").status == 403
    assert ask(proxy, "/api/v1/events", headers={"Origin": "http://evil.example"}).status == 403
    assert ask(proxy, "/api/v1/events", "HEAD").status == 404
    assert ask(proxy, "/api/v1/events", "POST").status == 405


# ---- changes


def change(proxy, name="tight", headers=BEARER, body=None, **values):
    text = json.dumps(values).encode() if body is None else body
    return ask(proxy, f"/api/v1/workloads/{name}", "POST", headers, text)


def limit(proxy):
    return proxy.metrics().gauge("concurrency_limit", "tight")


def test_a_dry_run_shows_the_difference_and_changes_nothing(proxy):
    reply = change(proxy, concurrency=3, queue_wait="2s", dry_run=True)
    assert reply.status == 200, reply
    answer = json.loads(reply.body)
    assert answer["changed"] is False and answer["dry_run"] is True
    assert {"key": "workloads[tight].concurrency", "before": "2", "after": "3"} in answer["changes"]
    assert limit(proxy) == 2


def test_a_change_is_in_force_at_once_and_told(proxy):
    reply = change(proxy, concurrency=3)
    assert reply.status == 200 and json.loads(reply.body)["changed"] is True
    assert limit(proxy) == 3
    now = state(proxy)
    assert workload(now, "tight")["concurrency"] == 3 and now["live_changes"] == 1
    assert now["events"][0]["kind"] == "changed" and now["events"][0]["subject"] == "tight"
    assert json.loads(change(proxy, concurrency=2).body)["changed"] is True
    assert limit(proxy) == 2 and state(proxy)["live_changes"] == 0


def test_what_the_file_could_not_say_is_refused(proxy):
    assert change(proxy, name="tigth", concurrency=3).status == 404
    assert change(proxy, concurrency=0).status == 422
    assert change(proxy, mode="sometimes").status == 422
    assert change(proxy, match="all").status == 422
    assert change(proxy, dry_run=True).status == 422
    assert change(proxy, body=b"{").status == 400
    assert change(proxy, body=b"[1]").status == 400
    assert change(proxy, body=b"x" * 40_000).status == 413
    assert limit(proxy) == 2


def test_a_change_is_guarded_as_a_reload_is(proxy):
    assert change(proxy, headers=JSON, concurrency=3).status == 401
    assert change(proxy, headers={**BEARER, "Authorization": "Bearer x"}, concurrency=3).status == 401
    assert change(proxy, headers={**BEARER, "Origin": "http://evil.example"}, concurrency=3).status == 403
    assert change(proxy, headers={**BEARER, "Content-Type": "text/plain"}, concurrency=3).status == 415
    # Nobody's body is read before that is known.
    assert change(proxy, headers=JSON, body=b"x" * 40_000).status == 401
    assert ask(proxy, "/api/v1/workloads/tight").status == 405
    assert limit(proxy) == 2
