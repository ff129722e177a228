"""Clients that lie, flood and hang: they cost nothing that lasts, and nobody else notices."""

import contextlib
import os
import random
import socket
import struct
import threading
import time

import pytest

from support.messages import B, P, Q, S, SSL_REQUEST, cancel_request, message, startup, version
from support.postgres import DATABASE
from support.requests import request
from support.storms import strike
from support.waiting import PATIENCE, Stopwatch, until, until_none
from support.wire import Closed, ServerError, Session

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL") == "1"
STARTUPS = 100_000 if FULL else 2_000
ALICE = {"user": "alice", "database": DATABASE}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"auth": {"timeout": "2s"}, "limits": {"max_startup": 64}})


# ---- a flood of first packets


def test_a_flood_of_hostile_startups_leaves_nothing_and_holds_up_nobody(proxy, connect):
    """PGBULKHEAD_TEST_FULL=1: 100,000 of them."""
    dice = random.Random(5)
    address = ("127.0.0.1", proxy.port)
    silent = [socket.create_connection(address) for _ in range(30)]
    worker = connect(proxy)
    for _ in range(300):
        strike(address, dice)
    before = proxy.resources()
    done = threading.Event()

    def flood():
        for _ in range(STARTUPS):
            strike(address, dice)
        done.set()

    threading.Thread(target=flood, daemon=True).start()
    answers = 0
    while not done.wait(0.002):
        assert worker.value("select 42") == "42"
        answers += 1
    assert answers > 10
    for sock in silent:
        sock.close()
    until(lambda: proxy.resources()[0] <= before[0], what="descriptors are given back")
    if "PGBULKHEAD_TEST_NO_RSS" not in os.environ:
        assert proxy.resources()[1] <= before[1] + 8 * 1024
    assert proxy.metrics().gauge("pinned") == 0
    text = proxy.metrics().text
    assert "p1=" not in text and "_pq_" not in text


def test_silent_and_slow_clients_are_sent_away_in_time(proxy, connect):
    silent = socket.create_connection(("127.0.0.1", proxy.port))
    slow = socket.create_connection(("127.0.0.1", proxy.port))
    packet = startup({**ALICE, "application_name": "s" * 2000})
    worker = connect(proxy)
    sent = 0
    closed = set()
    end = time.monotonic() + 20 * PATIENCE
    for sock in (silent, slow):
        sock.settimeout(0.05)
    while len(closed) < 2 and time.monotonic() < end:
        assert worker.value("select 42") == "42"
        for sock in {silent, slow} - closed:
            try:
                if sock is slow:
                    sock.sendall(packet[sent : sent + 1])
                    sent += 1
                if sock.recv(10) == b"":
                    closed.add(sock)
            except TimeoutError:
                pass
            except OSError:
                closed.add(sock)
    assert len(closed) == 2


# ---- by name


def test_cve_2026_107350_a_second_startup_packet_makes_nobody_another_user(proxy, connect):
    """The second one was taken for the login that the first had proved."""
    for first in ({**ALICE, "database": "no such"}, ALICE):
        session = connect(proxy, login=False)
        session.send(startup(first), startup({"user": "postgres", "database": DATABASE}))
        told = [msg for msg in session.drain() if msg.kind in "SE"]
        names = [msg.parameter() for msg in told if msg.kind == "S"]
        assert ("session_authorization", "postgres") not in names
        assert told[-1].kind == "E" and told[-1].fields()["S"] == "FATAL"
    assert connect(proxy).value("select current_user") == "alice"


@pytest.mark.parametrize("options", ["-c=", "-c =", "--=", "--", "-c", "-c a", "\\", " \\", "-c a=\\"])
def test_cve_2026_107349_options_without_a_name_end(proxy, connect, options):
    """An empty name made the parser go round for ever, before any login."""
    with Stopwatch() as watch:
        try:
            connect(proxy, options=options)
        except (ServerError, Closed):
            pass
        assert connect(proxy).value("select 42") == "42"
    assert watch.seconds < 5 * PATIENCE


@pytest.mark.parametrize("kind", "QPBDECHSFdcfpX~")
def test_cve_2026_6664_lengths_that_overflow_are_refused(proxy, connect, kind):
    """The sum of a length and a header passed the end of the numbers."""
    for length in (0, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, 2**30):
        session = connect(proxy)
        session.send(kind.encode() + struct.pack("!I", length) + b"\0" * 64)
        session.close()
    assert connect(proxy).value("select 42") == "42"


def test_cve_2026_6664_counts_inside_a_message_are_held_against_its_end(proxy, connect):
    lies = [
        message("P", b"\0select 1\0" + struct.pack("!H", 65535)),
        message("B", b"\0\0" + struct.pack("!HHi", 0, 65535, 2**31 - 16)),
        message("B", b"\0\0" + struct.pack("!H", 65535)),
        message("B", b"\0\0" + struct.pack("!HHi", 0, 1, -2)),
        message("F", struct.pack("!iHHi", 1, 65535, 1, 2**31 - 1)),
    ]
    for lie in lies:
        session = connect(proxy)
        session.send(P("select 1"), lie, S)
        # PostgreSQL answers a FunctionCall by itself, and the Sync too.
        session.send(Q("select 42"))
        got = session.until("Z", 3 if lie[:1] == b"F" else 2)
        kinds = [msg.kind for msg in got]
        assert "E" in kinds and kinds[-4:] == ["T", "D", "C", "Z"], lie


def test_cve_2026_6667_nothing_changes_without_a_proved_identity(proxy):
    """A command of the console needed no administrator. Here one thing changes anything: a reload over
    HTTP, which wants the token (test_admin_surfaces.py has the rest)."""
    before = proxy.metrics().sum("pgbulkhead_config_reloads_total")
    json = {"Content-Type": "application/json"}
    for headers in (json, {**json, "Authorization": "Bearer "}):
        reply = request(proxy.admin_port, "POST", "/api/v1/reload", headers, b"{}")
        assert reply.status in (401, 403)
    assert proxy.metrics().sum("pgbulkhead_config_reloads_total") == before


EVIL = """
create schema evil;
create table evil.calls (what text);
grant all on schema evil to alice;
grant all on evil.calls to alice;
create view evil.pg_locks as select * from pg_catalog.pg_locks
    where evil.called('pg_locks');
create view evil.pg_stat_activity as select * from pg_catalog.pg_stat_activity
    where evil.called('pg_stat_activity');
grant select on evil.pg_locks, evil.pg_stat_activity to alice;
"""
CALLED = """
create function evil.called(what text) returns bool language sql as
    $$ insert into evil.calls values (what) returning true $$;
"""
OVERLOADS = [
    "function evil.pg_backend_pid() returns int language sql as "
    "$$ insert into evil.calls values ('pid') returning 1 $$",
    "function evil.pg_advisory_unlock_all() returns void language sql as "
    "$$ insert into evil.calls values ('unlock') $$",
    "function evil.equal(oid, oid) returns bool language sql as "
    "$$ insert into evil.calls values ('=') returning true $$",
    "function evil.equal(int, int) returns bool language sql as "
    "$$ insert into evil.calls values ('=') returning true $$",
    "operator evil.= (leftarg = oid, rightarg = oid, function = evil.equal)",
    "operator evil.= (leftarg = int, rightarg = int, function = evil.equal)",
]


@pytest.fixture
def evil_schema(own_postgres):
    own_postgres.sql("drop schema if exists evil cascade")
    table, *rest = EVIL.split("create view", 1)
    for sql in (table, CALLED, "create view" + rest[0], *(f"create {sql};" for sql in OVERLOADS)):
        own_postgres.sql(sql)
    return own_postgres


@pytest.mark.parametrize("how", ["search_path", "options"])
def test_cve_2025_12819_a_clients_search_path_is_not_the_proxys(
    evil_schema, new_proxy, connect, how
):
    """Queries of the proxy's own ran with the search_path of a startup packet, and so the functions and
    operators of whoever sent it."""
    proxy = new_proxy(
        evil_schema,
        {
            "databases": {"*": {"pool_size": 2, "lock_sampler": {"interval": "50ms"}}},
            "workloads": [{"name": "default", "concurrency": 1, "queue": 9, "queue_wait": "30s"}],
        },
    )
    path = "evil, pg_catalog"
    given = {"search_path": path} if how == "search_path" else {"options": "-c search_path=evil,pg_catalog"}
    session = connect(proxy, **given)
    assert session.value("show search_path").replace(" ", "") == path.replace(" ", "")
    # What makes the proxy ask: a lock that outlives its transaction, its end, a session that leaves.
    session.ask(Q("select pg_catalog.pg_advisory_lock(1)"))
    session.ask(Q("select pg_catalog.pg_advisory_unlock(1)"))
    session.ask(Q("begin"))
    session.ask(Q("set local work_mem = '1MB'"))
    session.ask(Q("select pg_catalog.pg_sleep(0.3)"))
    session.ask(Q("commit"))
    session.ask(Q("do $$ begin perform 1; end $$"))
    session.send(P("select 1"), B(), S)
    session.until("Z")
    other = connect(proxy)
    assert other.value("select 42") == "42"
    session.close()
    assert other.value("select 43") == "43"
    assert evil_schema.value("select count(*) from evil.calls") in (0, "0")


# ---- descriptors


def inheritable(pid):
    """What each descriptor beyond the standard ones is that a child process would have."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        if int(name) < 3:
            continue
        with contextlib.suppress(FileNotFoundError):
            what = os.readlink(f"/proc/{pid}/fd/{name}")
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as info:
                flags = int(info.read().split("flags:")[1].split()[0], 8)
            if not flags & os.O_CLOEXEC:
                found.append(what)
    return found


def test_every_descriptor_would_be_closed_in_a_child(proxy, connect):
    """O_CLOEXEC: no program that this one might ever start would have the sockets. One of HTTP gets it
    from the worker that takes it, a moment after it was accepted."""
    session = connect(proxy)
    session.value("select 42")
    with socket.create_connection(("127.0.0.1", proxy.admin_port)) as http:
        http.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        until_none(lambda: inheritable(proxy.process.pid), what="inheritable descriptors")


def test_a_flood_of_connections_leaves_descriptors_for_everything_else(
    postgres, new_proxy, connect
):
    """`ulimit -n 256`, and more connections than that: sessions go on, backends open, people are
    answered, and when the flood is over all is as before."""

    def limited(proxy):
        proxy.command = ("prlimit", "--nofile=256:256")

    proxy = new_proxy(postgres, {"auth": {"timeout": "60s"}})
    limited(proxy)
    proxy.rewrite(proxy.budgets)
    session = connect(proxy)
    assert session.value("select 42") == "42"
    flood = []
    for _ in range(400):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", proxy.port))
        flood.append(sock)
    packet = startup(ALICE)
    for sock in flood:
        try:
            sock.send(packet)
        except OSError:
            pass
    assert session.value("select 43") == "43"
    assert proxy.get("/healthz")[0] == 200 and proxy.get("/readyz")[0] == 200
    # A backend of another kind must be opened now.
    assert session.value("set application_name = 'x'; select 44") == "44"
    for sock in flood:
        sock.close()

    def lets_in():
        try:
            late = Session(proxy.address, {**ALICE, "DateStyle": "German"})
        except (ServerError, Closed, OSError):
            return False
        late.terminate()
        return True

    until(lets_in, within=10, what="new clients are let in")
    assert proxy.metrics().sum("pgbulkhead_database_reachable") == 1
