"""transaction_timeout and client_idle_timeout: who is sent away, when, and what is true of its work."""

import pytest

from support.messages import B, CopyData, E, P, Q, S, batch
from support.waiting import PATIENCE, Stopwatch, until, until_none

pytestmark = pytest.mark.needs_proxy

QUICK = {
    "limits": {"client_idle_timeout": "500ms"},
    "workloads": [
        {
            "name": "kept",
            "match": {"application_name": "kept"},
            "concurrency": 4,
            "pooling": "session",
            "transaction_timeout": "400ms",
        },
        {"name": "default", "concurrency": 4, "queue": 8, "transaction_timeout": "400ms"},
    ],
}

pooling = pytest.mark.parametrize("lane", ["moving", "kept"])


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, QUICK)


def told(session):
    fields = [msg for msg in session.drain() if msg.kind == "E"][-1].fields()
    return fields["S"], fields["C"]


INSERT = "insert into t values (1)"
OVERLONG = {
    "idle in a block": (Q("begin") + Q(INSERT), "Z", 2),
    "running in a block": (Q("begin") + Q(INSERT) + Q("select pg_sleep(30)"), "Z", 2),
    "running alone": (Q("insert into t select 1 from pg_sleep(30)"), None, 0),
    "running a batch": (batch("insert into t select 1 from pg_sleep(30)") + S, None, 0),
    "owing a Sync": (batch(INSERT), None, 0),
    "in a copy": (Q("copy t (a) from stdin") + CopyData("1\n"), "G", 1),
}


@pooling
@pytest.mark.parametrize("state", OVERLONG)
def test_an_overlong_transaction_is_rolled_back_and_told(postgres, proxy, connect, state, lane):
    data, kind, count = OVERLONG[state]
    postgres.empty_tables()
    session = connect(proxy, application_name=lane)
    session.send(data)
    if kind:
        session.until(kind, count)
    assert told(session) == ("FATAL", "25P04")
    until_none(lambda: proxy.metrics().held(), 5, "the permit is back")
    postgres.settle()
    assert postgres.sql("select * from t") == []


@pooling
def test_each_transaction_has_its_own_time(proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    pause = P("select pg_sleep(0.15)") + B() + E() + S
    assert sum(msg.kind == "Z" for msg in session.ask(pause * 6, ready=6)) == 6


@pooling
def test_a_commit_that_was_sent_is_never_cut(postgres, proxy, connect, lane):
    postgres.empty_tables()
    session = connect(proxy, application_name=lane)
    session.query("begin")
    session.query(INSERT)
    session.query("create temp table slow (a int) on commit drop") if lane == "kept" else None
    got = session.ask(Q("select pg_sleep(0.6); commit"))
    assert [msg.tag() for msg in got if msg.kind == "C"] == ["SELECT 1", "COMMIT"]
    assert len(postgres.sql("select * from t")) == 1


@pooling
def test_a_client_that_is_silent_between_transactions_is_sent_away(proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    with Stopwatch() as watch:
        session.query("select 1 + 0")
        assert told(session) == ("FATAL", "57P05")
    assert 0.45 <= watch.seconds < 3 * PATIENCE
    until_none(lambda: proxy.metrics().held(), 5, "its backend is clean")


def test_a_client_that_speaks_is_not_silent(proxy, connect):
    session = connect(proxy)
    with Stopwatch() as watch:
        while watch.seconds < 1.2:
            session.query("select pg_sleep(0.2)")
            watch.__exit__()
    assert session.value("select 7") == "7"


def test_a_block_without_a_statement_is_no_silence_between_transactions(proxy, connect):
    session = connect(proxy)
    session.query("begin")
    assert session.quiet(1.0) is None
    session.query("rollback")
    until(lambda: told(session) == ("FATAL", "57P05"), what="it is told behind the block")
