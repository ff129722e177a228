"""A permit holder whose client neither reads nor sends what is owed is rolled back and told."""

import os
import signal

import pytest

from support.messages import B, CopyData, E, H, P, Q, batch
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

QUICK = {
    "workloads": [
        {"name": "default", "concurrency": 4, "queue": 8, "holder_idle_timeout": "400ms"},
    ]
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, QUICK)


SILENT = {
    "in a block": (Q("begin") + Q("insert into t values (1)"), "Z", 2),
    "in a failed block": (Q("begin") + Q("select 1/0"), "Z", 2),
    "owing a Sync": (batch("insert into t values (1)") + H, "C", 1),
    "owing a Sync and a Flush": (batch("insert into t values (1)"), None, 0),
    "in a copy": (Q("copy t (a) from stdin") + CopyData("1\n"), "G", 1),
    "in half a message": (Q("begin") + Q("select 1 + 0") + Q("select 'half'")[:9], "Z", 2),
}


@pytest.mark.parametrize("state", SILENT)
def test_a_silent_holder_is_rolled_back_and_told(postgres, proxy, connect, state):
    data, kind, count = SILENT[state]
    postgres.empty_tables()
    session = connect(proxy)
    session.send(data)
    if kind:
        session.until(kind, count)
    told = [msg for msg in session.drain() if msg.kind == "E"]
    assert (told[-1].fields()["S"], told[-1].fields()["C"]) == ("FATAL", "25P03")
    until(lambda: proxy.metrics().gauge("running") == 0, what="the permit is back")
    postgres.settle()
    assert postgres.sql("select * from t") == []


def test_a_statement_that_runs_longer_is_left_alone(proxy, connect):
    assert connect(proxy).value("select 7 from pg_sleep(1)") == "7"


def test_a_batch_that_runs_longer_without_its_sync_is_left_alone(proxy, connect):
    session = connect(proxy)
    session.send(P("select 7 from pg_sleep(1)") + B() + E() + H)
    assert [msg.kind for msg in session.until("C")] == ["1", "2", "D", "C"]


def test_an_idle_client_without_a_permit_is_left_alone(proxy, connect):
    session, other = connect(proxy), connect(proxy)
    session.query("begin")
    other.query("select pg_sleep(1)")
    assert session.value("select 7") == "7"


def test_a_backend_that_does_not_answer_keeps_its_permit_for_a_while(postgres, new_proxy, connect):
    """PostgreSQL's process is stopped: nobody knows what it still does. Its permit is held as an
    orphan's until orphan_hold has passed, and what that may mean is logged."""
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 2, "cancel_timeout": "300ms"}},
            "workloads": [
                {
                    "name": "default",
                    "concurrency": 1,
                    "queue": 1,
                    "queue_wait": "20s",
                    "cancel_after_leave": "0",
                    "orphan_hold": "1500ms",
                }
            ],
        },
    )
    session = connect(proxy)
    pid = int(session.value("select pg_backend_pid()"))
    session.send(Q("select pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    os.kill(pid, signal.SIGSTOP)
    try:
        session.reset_connection()
        until(lambda: proxy.metrics().gauge("orphaned") == 1, what="the permit is an orphan's")
        waiter = connect(proxy)
        waiter.send(Q("select 7"))
        assert waiter.quiet(0.5) is None
        assert waiter.until("Z")[1].kind == "D"
        assert proxy.metrics().gauge("orphaned") == 0
        assert "orphan_released" in proxy.log()
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: not postgres.running("pg_sleep"), what="the statement has ended")
