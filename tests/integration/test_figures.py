"""What the figures say is what was: times within a few hundredths, the same by each protocol; and neither figures nor
the log grow with what clients do."""

import time

import pytest

from support.lanes import Holder
from support.messages import Q, S, batch, query_batch
from support.waiting import PATIENCE, free_port, until
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy

NAP = 0.1
STATEMENT = f"select pg_sleep({NAP})"
TIMES = "pgbulkhead_workload_"


def simple(session):
    for text in ("begin", *[STATEMENT] * 10, "commit"):
        session.query(text)


def extended(session):
    for text in ("begin", *[STATEMENT] * 10, "commit"):
        session.send(query_batch(text))
        session.until("Z")


def pipelined(session):
    """One write; a Sync behind each."""
    session.send(b"".join(query_batch(text) for text in ("begin", *[STATEMENT] * 10, "commit")))
    session.until("Z", 12)


def one_batch(session):
    """One write with one Sync, which is one statement to the figures."""
    session.send(batch("begin") + b"".join(batch(STATEMENT) for _ in range(10)) + batch("commit") + S)
    session.until("Z")


def times(proxy, what):
    """(count, sum) of a histogram of the workload `default`."""
    metrics = proxy.metrics()
    return tuple(metrics.sum(f"{TIMES}{what}_seconds_{part}", workload="default") for part in ("count", "sum"))


@pytest.mark.parametrize("way", [simple, extended, pipelined, one_batch])
def test_ten_naps_in_one_transaction_are_one_second(postgres, new_proxy, connect, way):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    began = time.monotonic()
    way(session)
    took = time.monotonic() - began
    until(lambda: times(proxy, "transaction")[0] == 1, what="it is counted")
    assert times(proxy, "gate_wait")[0] == times(proxy, "permit_hold")[0] == 1
    # PostgreSQL's own sleep is not shorter than asked for, and the client has waited for all of it.
    for what in ("transaction", "permit_hold", "statement"):
        assert 10 * NAP <= times(proxy, what)[1] <= took * 1.05, what
    # BEGIN goes ahead of the first.
    assert times(proxy, "statement")[0] == (1 if way is one_batch else 11)


def test_idle_gaps_count_for_the_transaction_and_not_for_its_statements(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.query("begin")
    session.query("select 1 + 0")
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 3 * NAP, what="the client has done something else")
    session.query("commit")
    until(lambda: times(proxy, "transaction")[0] == 1, what="it is counted")
    assert times(proxy, "transaction")[1] >= 3 * NAP and times(proxy, "permit_hold")[1] >= 3 * NAP
    assert times(proxy, "statement")[1] < 2 * NAP * PATIENCE


def test_each_protocol_counts_alike(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    counted = []
    for send in (Q, query_batch):
        before = times(proxy, "statement")[0], proxy.metrics().admitted("default")
        for _ in range(200):
            session.send(send("select 1 + 0"))
            session.until("Z")
        until(lambda: proxy.running() == 0, what="all have ended")
        counted.append((times(proxy, "statement")[0] - before[0], proxy.metrics().admitted("default") - before[1]))
    assert counted == [(200, 200)] * 2


def test_unnamed_statements_cost_no_backend_of_their_own(postgres, new_proxy, connect):
    """100 sessions that parse, bind and execute without a name share what one needs at a time."""
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 4}}})
    sessions = [connect(proxy) for _ in range(100)]
    for session in sessions:
        session.send(query_batch("select $1::int", ["7"]))
        session.until("Z")
    metrics = proxy.metrics()
    assert metrics.gauge("pinned", "default") == 0
    # One for the workload, one for housekeeping.
    assert metrics.sum("pgbulkhead_database_backends") <= 2


def test_a_postgresql_that_is_away_does_not_fill_the_log(new_proxy, postgres):
    """Clients that come back as fast as they are refused: what is logged grows with the time and not with them."""
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"conninfo": f"host=127.0.0.1 port={free_port()}", "pool_wait": "10ms"}},
            "log": {"level": "info"},
        },
    )
    attempts, began = 0, time.monotonic()
    while time.monotonic() - began < 3 or attempts < 200:
        with pytest.raises(ServerError):
            Session(proxy.address, {"user": "alice", "database": "bulkhead"})
        attempts += 1
    seconds = time.monotonic() - began
    trouble = [line for line in proxy.log().splitlines() if "level=warn" in line or "level=error" in line]
    assert 1 <= len(trouble) <= 2 + seconds, trouble[:10]
    assert len(proxy.log().splitlines()) < 10 + 2 * seconds


def test_refusals_do_not_fill_the_log_either(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres, {"workloads": [{"name": "default", "concurrency": 1}], "log": {"level": "info"}}
    )
    holder, session = Holder(connect, proxy), connect(proxy)
    before = len(proxy.log().splitlines())
    for _ in range(500):
        assert session.ask(Q("select 1 + 0"))[0].kind == "E"
    assert len(proxy.log().splitlines()) - before <= 3
    holder.release()
