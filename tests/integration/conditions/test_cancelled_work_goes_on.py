"""A permit lasts as long as PostgreSQL may work on it, whatever the client does."""

import os
import signal

import pytest

from support.lanes import queued
from support.messages import Q, codes
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

# It does not obey the first cancel, for a second.
STUBBORN = """do $$ begin
    begin perform pg_sleep(30); exception when query_canceled then perform pg_sleep(1); end;
end $$ /* stubborn */"""


def start(proxy, postgres, connect, workload, text, marker):
    session = connect(proxy, application_name=workload)
    session.send(Q(text))
    until(lambda: postgres.running(marker), what=f"{marker} runs")
    return session


def test_the_permit_stays_as_long_as_postgresql_works(proxy, postgres, connect):
    session = start(proxy, postgres, connect, "patient", STUBBORN, "stubborn")
    follower = queued(proxy, connect, "patient", "select 'follower'")
    session.reset_connection()
    assert follower.read(within=8).kind == "T"
    assert not postgres.running("stubborn")


def test_clients_that_time_out_raise_nothing_above_the_budget(proxy, postgres, connect):
    """Each gives up its statement at once and comes back with the same one, on two permits."""
    most = 0
    for _ in range(30):
        session = connect(proxy, application_name="pair")
        session.send(Q("select pg_sleep(30) /* given up */"))
        most = max(most, postgres.running("/* given up */"))
        session.close()
    until(lambda: not postgres.running("/* given up */"), within=8, what="all were cancelled")
    assert most <= 2 and proxy.metrics().gauge("peak_running", "pair") <= 2


def test_the_permit_comes_back_only_when_all_is_cleaned(proxy, postgres, connect, rows):
    """Whoever gets it next finds the lock free and the work of the other undone."""
    session = connect(proxy, application_name="patient")
    for text in ("begin", "lock table t", "insert into t values (1)"):
        session.query(text)
    follower = queued(proxy, connect, "patient", "begin; lock table t nowait; commit")
    session.reset_connection()
    assert "E" not in codes(follower.until("Z")) and rows() == []


def test_the_permit_of_a_backend_that_does_not_answer_is_an_orphans(new_proxy, postgres, connect):
    lane = {"name": "default", "concurrency": 1, "cancel_after_leave": "0", "orphan_hold": "2s"}
    pool = {"*": {"pool_size": 2, "cancel_timeout": "300ms"}}
    proxy = new_proxy(postgres, {"databases": pool, "workloads": [lane]})
    session = connect(proxy)
    pid = int(session.value("select pg_backend_pid()"))
    session.send(Q("select pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="it runs")
    os.kill(pid, signal.SIGSTOP)
    try:
        session.reset_connection()
        until(lambda: proxy.metrics().gauge("orphaned") == 1, what="the permit is an orphan's")
        until(lambda: proxy.metrics().gauge("orphaned") == 0, what="its time has passed")
        assert "orphan_released" in proxy.log()
        assert connect(proxy).value("select 7") == "7"
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: not postgres.running("pg_sleep"), what="the statement has ended")


def test_a_second_cancel_changes_nothing(proxy, postgres, connect):
    session = start(proxy, postgres, connect, "patient", "select pg_sleep(30)", "pg_sleep")
    for _ in range(2):
        assert session.cancel() == b""
    assert codes(session.until("Z"))[-2:] == ["57014", "Z"]
    until(lambda: proxy.running("patient") == 0, what="the permit is back")
    assert session.quiet(0.1) is None
    assert session.value("select 42") == "42"
