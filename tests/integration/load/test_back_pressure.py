"""Peers that do not read, and messages larger than any buffer: bounded memory, and no deadlock that
PostgreSQL alone would not have. `PGBULKHEAD_TEST_FULL=1` takes the sizes a release is judged by."""

import contextlib
import resource
import select
import socket
import time

import pytest

from form import FULL
from support.messages import B, E, P, Q, S
from support.postgres import DATABASE
from support.waiting import PATIENCE, until
from support.wire import Session

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

MIB = 1 << 20
# Two watermarks of bytes, and what the kernel hands over in one read.
PER_SLOW_CLIENT = 2 * MIB
SLACK = 64 * MIB if FULL else 24 * MIB
FIELD = 500_000_000 if FULL else 64_000_000


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    changes = {
        "databases": {"*": {"pool_size": 60}},
        "workloads": [{"name": "default", "concurrency": 60}],
    }
    return module_proxy(postgres, changes)


def resident(proxy):
    return proxy.resources()[1] * 1024


def read_some(session, count):
    """At most so many bytes of what has come, thrown away; false when nothing more can come."""
    with contextlib.suppress(BlockingIOError):
        return len(session.sock.recv(count)) > 0
    return True


def test_slow_readers_cost_bounded_memory_and_nobody_else_anything(postgres, proxy, connect):
    count, megabytes = (50, 1000) if FULL else (10, 60)
    before = resident(proxy)
    slow = [connect(proxy) for _ in range(count)]
    for session in slow:
        session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        session.send(
            Q(f"select repeat('x', 1000) from generate_series(1, {megabytes * 1000})")
        )
    other = connect(proxy)
    largest = 0
    for _ in range(30):
        for session in slow:
            assert read_some(session, 10_000)
        start = time.monotonic()
        assert other.value("select 1 + 0") == "1"
        assert time.monotonic() - start < 1.0 * PATIENCE
        largest = max(largest, resident(proxy) - before)
    assert largest < count * PER_SLOW_CLIENT + SLACK, f"{largest / MIB:.0f} MiB"
    for session in slow:
        session.reset_connection()


def test_a_reader_that_wakes_up_gets_every_row(proxy, connect):
    session = connect(proxy)
    session.send(Q("select g, repeat('x', 1000) from generate_series(1, 20000) g"))
    until(lambda: proxy.running() == 1, what="the query runs")
    rows = [msg.row()[0] for msg in session.until("Z", within=20) if msg.kind == "D"]
    assert rows == [str(g) for g in range(1, 20001)]


class Writer:
    """Writes all of it and reads nothing; tells how far it got."""

    def __init__(self, address):
        self.session = Session(address, {"user": "alice", "database": DATABASE})

    def write(self, data, within):
        rest = memoryview(data)
        end = time.monotonic() + within * PATIENCE
        while rest and time.monotonic() < end:
            if select.select([], [self.session.sock], [], 0.2)[1]:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[self.session.sock.send(rest) :]
        return len(data) - len(rest)


@pytest.mark.parametrize(
    "size, count",
    [(50, 20_000), (20_000, 3_300 if FULL else 800)],
    ids=["a megabyte of replies", "much to write"],
)
def test_a_pipeline_written_before_anything_is_read_ends_as_it_does_directly(
    postgres, proxy, size, count
):
    """Replies that the kernel's buffers hold are no deadlock; what is one for PostgreSQL may be one
    here."""
    text = "x" * size
    insert = P("insert into t values (1, $1) returning a") + B([text]) + E() + S
    data = insert * count
    finished = {}
    for name, address in (("direct", postgres.address), ("proxy", proxy.address)):
        writer = Writer(address)
        finished[name] = writer.write(data, within=60 if FULL else 20) == len(data)
        if finished[name]:
            got = writer.session.until("Z", count, within=60)
            assert sum(msg.kind == "C" for msg in got) == count
        writer.session.reset_connection()
        postgres.settle(20)
        postgres.empty_tables()
    assert finished["proxy"] or not finished["direct"], finished


def received_bytes(session, within):
    """Bytes up to the end of the answer, none of them kept but the last few."""
    total, tail = 0, b""
    end = time.monotonic() + within * PATIENCE
    while not tail.endswith(b"Z\0\0\0\5I"):
        assert time.monotonic() < end, f"{total} bytes"
        if select.select([session.sock], [], [], 1.0)[0]:
            data = session.sock.recv(1 << 20)
            assert data, f"closed after {total} bytes"
            total += len(data)
            tail = (tail + data)[-6:]
    return total


def test_a_huge_field_to_the_client_passes_in_bounded_memory(proxy, connect):
    session = connect(proxy)
    before = resident(proxy)
    session.send(Q(f"select repeat('x', {FIELD})"))
    assert received_bytes(session, within=120) > FIELD
    assert resident(proxy) - before < SLACK


def test_a_huge_field_to_the_server_passes_in_bounded_memory(proxy, connect):
    session = connect(proxy)
    before = resident(proxy)
    data = P("select length($1)", oids=[25]) + B(["x" * FIELD]) + E() + S
    got = session.ask(data, within=120)
    assert [msg.row() for msg in got if msg.kind == "D"] == [(str(FIELD),)]
    assert resident(proxy) - before < SLACK


def test_idle_sessions_give_their_memory_back(proxy):
    count, size = (900, 5 * MIB) if FULL else (300, 1 * MIB)
    wanted = count + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    sessions = []
    try:
        for _ in range(count):
            sessions.append(Session(proxy.address, {"user": "alice", "database": DATABASE}))
        idle = resident(proxy)
        query = Q(f"select length('{'x' * size}')")
        for session in sessions:
            assert session.ask(query, within=20)[1].row() == (str(size),)
        until(lambda: resident(proxy) < 2 * idle, what=f"memory {resident(proxy)} is given back, {idle}")
    finally:
        for session in sessions:
            session.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
