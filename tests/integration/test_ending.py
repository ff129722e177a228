"""SIGTERM and SIGINT: who may finish, who is told, and that the program ends."""

import os
import signal

import pytest

from support.lanes import WORKLOADS, Holder, queued
from support.messages import Q, startup
from support.waiting import PATIENCE, Stopwatch, until
from support.wire import Closed, ServerError, Session

pytestmark = pytest.mark.needs_proxy


@pytest.fixture
def no_leftovers(postgres):
    """Whatever the proxy left at work in PostgreSQL is the failure of this test alone."""
    yield
    postgres.end_backends()


def test_sigterm_lets_a_running_query_finish_and_exits_0(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.send(Q("select 'done' from pg_sleep(0.5)"))
    until(lambda: postgres.running("pg_sleep"), what="it runs")
    proxy.signal(signal.SIGTERM)
    assert [msg.row() for msg in session.until("Z") if msg.kind == "D"] == [("done",)]
    assert proxy.wait() == 0


def test_sigterm_lets_a_block_go_on_to_its_commit(postgres, new_proxy, connect):
    postgres.empty_tables()
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    proxy.signal(signal.SIGTERM)
    until(lambda: proxy.get("/readyz")[0] == 503, what="not ready")
    session.query("insert into t values (2)")
    assert session.ask(Q("commit"))[0].tag() == "COMMIT"
    assert proxy.wait() == 0
    assert postgres.count("select count(*) from t") == 2


def test_sigterm_tells_idle_clients_before_it_closes_them(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    sessions = [connect(proxy) for _ in range(20)]
    sessions[0].query("select 1 + 0")
    proxy.signal(signal.SIGTERM)
    for session in sessions:
        assert [(msg.fields()["S"], msg.fields()["C"]) for msg in session.drain()] == [
            ("FATAL", "57P01")
        ]
    assert proxy.wait() == 0


def test_sigterm_refuses_waiters_promptly(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 1 + 0")
    proxy.signal(signal.SIGTERM)
    with Stopwatch() as watch:
        first = waiter.read()
    assert watch.seconds < 2 * PATIENCE and first.kind == "E"
    assert first.fields()["C"] in ("40001", "57P01")
    holder.release()
    assert proxy.wait() == 0


def test_sigterm_takes_no_new_clients(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    proxy.signal(signal.SIGTERM)
    until(lambda: proxy.get("/readyz")[0] == 503, what="not ready")
    until(lambda: refused(proxy), what="the door is closed")
    session.query("commit")
    assert proxy.wait() == 0


def refused(proxy):
    try:
        Session(proxy.address, {"user": "alice", "database": "bulkhead"}).terminate()
        return False
    except (OSError, Closed, ServerError):
        return True


def test_until_the_delay_has_passed_work_goes_on_as_before(postgres, new_proxy, connect):
    """Whoever sends clients here may not have heard yet that this instance is not ready any more."""
    delay = 1.0 * PATIENCE
    drain = {"delay": f"{delay:g}s", "timeout": f"{delay + 20:g}s"}
    proxy = new_proxy(postgres, {"workloads": WORKLOADS, "drain": drain})
    idle, holder = connect(proxy), Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 'waited'")
    with Stopwatch() as watch:
        proxy.signal(signal.SIGTERM)
        until(lambda: proxy.get("/readyz") == (503, "not ready: draining\n"), 0.5, "not ready")
        assert proxy.get("/healthz")[0] == 200
        newcomer = connect(proxy)
        assert newcomer.value("select 'let in'") == "let in"
        holder.release()
        assert waiter.until("Z")[1].row() == ("waited",)
        for session in (idle, newcomer):
            assert [msg.fields()["C"] for msg in session.drain(within=2 * delay)] == ["57P01"]
        assert proxy.wait() == 0
    assert watch.seconds > delay
    assert not proxy.accepts()


def test_after_the_delay_who_waits_is_told_and_nobody_comes_in(postgres, new_proxy, connect):
    drain = {"delay": "200ms", "timeout": "20s"}
    proxy = new_proxy(postgres, {"workloads": WORKLOADS, "drain": drain})
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 1 + 0")
    proxy.signal(signal.SIGTERM)
    assert [msg.fields()["C"] for msg in waiter.drain() if msg.kind == "E"] == ["40001", "57P01"]
    assert not proxy.accepts()
    holder.release()
    assert proxy.wait() == 0


@pytest.mark.parametrize("method", ["passthrough", "trust"])
def test_who_is_logging_in_is_told_too(own_postgres, new_proxy, method):
    """Asked for a password, or let in while PostgreSQL does not answer."""
    proxy = new_proxy(own_postgres, door_auth={"method": method})
    session, postmaster = Session(proxy.address), own_postgres.postmaster()
    os.kill(postmaster, signal.SIGSTOP)
    try:
        session.send(startup({"user": "alice", "database": "bulkhead"}))
        until(lambda: logging_in(proxy, method, session), what="it has asked to log in")
        proxy.signal(signal.SIGTERM)
        assert [msg.fields()["C"] for msg in session.drain() if msg.kind == "E"] == ["57P03"]
        assert proxy.wait() == 0
    finally:
        os.kill(postmaster, signal.SIGCONT)


def logging_in(proxy, method, session):
    if method == "passthrough":
        return session.read().kind == "R"
    return proxy.metrics().sum("pgbulkhead_database_backends", state="connecting") == 1


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_ends_the_waiting(postgres, new_proxy, connect, second):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    proxy.signal(signal.SIGTERM)
    until(lambda: proxy.get("/readyz")[0] == 503, what="it drains")
    with Stopwatch() as watch:
        proxy.signal(second)
        assert [msg.fields()["C"] for msg in session.drain()] == ["57P01"]
        assert proxy.wait() == 0
    assert watch.seconds < 2 * PATIENCE


def test_sigterm_ends_within_its_timeout_whatever_runs(postgres, new_proxy, connect, no_leftovers):
    proxy = new_proxy(postgres, {"drain": {"timeout": "500ms"}})
    session = connect(proxy)
    session.send(Q("select pg_sleep(60)"))
    until(lambda: postgres.running("pg_sleep(60)"), what="it runs")
    with Stopwatch() as watch:
        proxy.signal(signal.SIGTERM)
        assert proxy.wait() == 0
    assert 0.4 < watch.seconds < 3 * PATIENCE
    postgres.settle()


def test_sigint_stops_at_once_and_leaves_nothing_in_postgresql(
    postgres, new_proxy, connect, no_leftovers
):
    postgres.empty_tables()
    proxy = new_proxy(postgres)
    block, running = connect(proxy), connect(proxy)
    block.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    running.send(Q("select pg_sleep(60)"))
    until(lambda: postgres.running("pg_sleep(60)"), what="it runs")
    with Stopwatch() as watch:
        proxy.signal(signal.SIGINT)
        assert proxy.wait() in (0, 130)
    assert watch.seconds < 2 * PATIENCE
    postgres.settle()
    assert postgres.sql("select * from t") == []


def test_a_client_that_leaves_while_the_program_ends_harms_nothing(own_postgres, new_proxy, connect):
    """At the end running work is cancelled; a wish of its session for the same cancel comes behind.

    The postmaster is stopped, so that the first cancel is still on its way."""
    proxy = new_proxy(own_postgres)
    running = connect(proxy)
    running.send(Q("select pg_sleep(60)"))
    until(lambda: own_postgres.running("pg_sleep(60)"), what="it runs")
    postmaster = own_postgres.postmaster()
    os.kill(postmaster, signal.SIGSTOP)
    try:
        proxy.signal(signal.SIGINT)
        until(lambda: not proxy.accepts(), what="the doors are closed")
        running.reset_connection()
        assert proxy.wait() in (0, 130)
    finally:
        os.kill(postmaster, signal.SIGCONT)
    own_postgres.settle()


def test_a_proxy_that_nobody_used_exits_0(postgres, new_proxy):
    proxy = new_proxy(postgres)
    proxy.signal(signal.SIGTERM)
    assert proxy.wait() == 0
