"""A client goes: what it sent whole runs, what it did not finish is rolled back, and its permit
comes back last."""

import time

import pytest

from support.lanes import WORKLOADS, Holder, queued, waiting
from support.messages import B, CopyData, CopyDone, H, P, Q, S, X, batch, query_batch, startup
from support.waiting import PATIENCE, Stopwatch, until
from support.wire import LEAVING, Closed, Session

needs_proxy = pytest.mark.needs_proxy

BRIEF = {"cancel_after_leave": "200ms"}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    workloads = [{**workload, **BRIEF} for workload in WORKLOADS[:-1]]
    workloads.append(
        {"name": "default", "concurrency": 2, "queue": 20, "queue_wait": "10s", **BRIEF}
    )
    return module_proxy(postgres, {"workloads": workloads})


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.empty_tables()


def rows(postgres):
    return postgres.sql("select a from t order by a")


def leave(session, way):
    LEAVING[way](session)


ways = pytest.mark.parametrize("way", LEAVING)

# ---- unfinished work


INSERT = "insert into t values (1)"


def batch_without_sync(session):
    session.send(batch(INSERT))


def flushed_batch_without_sync(session):
    session.send(batch(INSERT), H)
    session.until("C")


def block_without_commit(session):
    session.ask(Q("begin"), Q(INSERT), ready=2)


def block_without_commit_in_one_write(session):
    session.send(Q("begin"), Q(INSERT))


def copy_without_end(session):
    session.send(Q("copy t from stdin"))
    session.until("G")
    session.send(CopyData("1\ta\n"), CopyData("2\tb\n"))


def half_a_bind(session):
    session.send(P("insert into t values (1, $1)"), B(["x" * 1_000_000])[:600_000])


def half_a_query(session):
    session.send(Q(INSERT)[:-3])


UNFINISHED = [
    batch_without_sync,
    flushed_batch_without_sync,
    block_without_commit,
    block_without_commit_in_one_write,
    copy_without_end,
    half_a_bind,
    half_a_query,
]


@ways
@pytest.mark.parametrize("head", UNFINISHED, ids=lambda head: head.__name__)
def test_what_a_client_did_not_finish_is_never_stored(postgres, proxy, connect, head, way):
    session = connect(proxy)
    head(session)
    leave(session, way)
    postgres.settle(within=2)
    assert rows(postgres) == []
    proxy.assert_clean(within=2)
    assert rows(postgres) == []


# ---- finished work


FIRE_AND_FORGET = {
    "a query": Q(INSERT),
    "a batch": query_batch(INSERT),
    "a block": Q("begin") + Q(INSERT) + Q("commit"),
    "a block in one text": Q(f"begin; {INSERT}; commit"),
    "a block before one Sync": batch("begin") + batch(INSERT) + batch("commit") + S,
    "a block by batches": query_batch("begin") + query_batch(INSERT) + query_batch("commit"),
    "a copy": Q("copy t (a) from stdin") + CopyData("1\n") + CopyDone,
    "work behind something slow": Q("select pg_sleep(0.1)") + Q(INSERT),
}


forms = pytest.mark.parametrize("data", FIRE_AND_FORGET.values(), ids=FIRE_AND_FORGET)


@forms
@pytest.mark.parametrize("last", [X, b""], ids=["X", "FIN"])
def test_what_was_sent_whole_before_leaving_is_stored(postgres, proxy, connect, data, last):
    session = connect(proxy)
    session.send(data + last)
    session.half_close()
    session.drain()
    until(lambda: rows(postgres) == [("1",)], within=3, what="the row is there")


@needs_proxy
@forms
def test_fire_and_forget_is_stored(postgres, proxy, connect, data):
    """Everything and Terminate in one write, then close.

    PostgreSQL itself stops here as soon as it notices that nobody reads its answers; the proxy has
    received the work whole and runs it.
    """
    session = connect(proxy)
    session.send(data + X)
    session.close()
    until(lambda: rows(postgres) == [("1",)], within=3, what="the row is there")


@needs_proxy
@pytest.mark.parametrize("form", ["a query", "a block", "a block by batches", "a copy"])
def test_fire_and_forget_a_hundred_times_loses_nothing(postgres, proxy, connect, form):
    """One after the other on a warm backend, so that no one waits for anything."""
    connect(proxy).query("select 1 + 0")
    for i in range(100):
        session = connect(proxy)
        session.send(FIRE_AND_FORGET[form] + X)
        session.close()
        until(lambda stored=i + 1: len(rows(postgres)) == stored, within=3, what=f"row {i + 1}")


def test_a_client_that_only_stops_sending_reads_all_its_answers(proxy, connect):
    session = connect(proxy)
    session.send(Q("select pg_sleep(0.1)"), query_batch("select 2"), Q("select 3"))
    session.half_close()
    got = session.drain()
    assert [msg.row()[0] for msg in got if msg.kind == "D"] == ["", "2", "3"]


@needs_proxy
@ways
def test_a_statement_that_runs_on_is_cancelled_after_its_grace(postgres, proxy, connect, way):
    session = connect(proxy)
    session.send(Q("insert into t select 1 from pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    leave(session, way)
    until(lambda: not postgres.running("pg_sleep"), within=2, what="the statement was cancelled")
    proxy.assert_clean(within=2)
    assert rows(postgres) == []


@ways
def test_a_commit_that_was_received_is_never_cancelled(postgres, proxy, connect, way):
    """The commit lasts a second, the grace is 200 ms."""
    session = connect(proxy)
    session.ask(Q("begin"), Q(INSERT), Q("insert into slow_commit values (10)"), ready=3)
    session.send(Q("commit"))
    until(lambda: postgres.running("commit"), what="the commit runs")
    leave(session, way)
    postgres.settle(within=4)
    assert rows(postgres) == [("1",)]


# ---- queued


@needs_proxy
@ways
@pytest.mark.parametrize(
    "data",
    [
        Q(INSERT),
        query_batch(INSERT),
        batch(INSERT) + H,
        Q("begin") + Q(INSERT) + Q("commit"),
        Q("copy t (a) from stdin") + CopyData("1\n") + CopyDone,
    ],
    ids=["query", "batch", "batch without Sync", "block", "copy"],
)
def test_a_waiter_that_leaves_is_out_of_the_queue_at_once_and_never_starts(
    postgres, proxy, connect, data, way
):
    before = proxy.metrics().sum("pgbulkhead_workload_left_while_queued_total", workload="patient")
    holder = Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", data)
    with Stopwatch() as watch:
        leave(session, way)
        waiting(proxy, "patient", 0)
    assert watch.seconds < 5 * PATIENCE
    assert (
        proxy.metrics().sum("pgbulkhead_workload_left_while_queued_total", workload="patient")
        == before + 1
    )
    holder.release()
    assert holder.session.value("select 42") == "42"
    assert rows(postgres) == []


@needs_proxy
def test_those_behind_a_waiter_that_left_move_up(proxy, connect):
    holder = Holder(connect, proxy, "patient")
    sessions = [queued(proxy, connect, "patient", "select 1 + 0", i + 1) for i in range(6)]
    for session in sessions[::2]:
        session.close()
    waiting(proxy, "patient", 3)
    holder.release()
    for session in sessions[1::2]:
        assert [msg.kind for msg in session.until("Z")] == ["T", "D", "C", "Z"]


@needs_proxy
def test_200_waiters_that_vanish_leave_nothing_behind(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {"workloads": [{"name": "default", "concurrency": 1, "queue": 300, "queue_wait": "20s"}]},
    )
    holder = Holder(connect, proxy)
    sessions = [connect(proxy) for _ in range(200)]
    for session in sessions:
        session.send(Q(INSERT))
    waiting(proxy, "default", 200)
    for i, session in enumerate(sessions):
        leave(session, ("FIN", "RST", "X")[i % 3])
    waiting(proxy, "default", 0)
    holder.release()
    assert rows(postgres) == []


# ---- the permit


@needs_proxy
@ways
def test_a_permit_is_not_given_on_before_postgresql_has_ended_the_work(
    postgres, proxy, connect, way
):
    """The work ignores the first cancel for a second, so only PostgreSQL's own answer can say that
    it has ended."""
    stubborn = """do $$ begin
        begin perform pg_sleep(30); exception when query_canceled then perform pg_sleep(1); end;
    end $$ /* stubborn */"""
    session = connect(proxy, application_name="patient")
    session.send(Q(stubborn))
    until(lambda: postgres.running("stubborn"), what="the work runs")
    follower = queued(proxy, connect, "patient", "select 'follower' /* follower */")
    leave(session, way)
    assert follower.read(within=8).kind == "T"
    assert not postgres.running("stubborn")


@needs_proxy
def test_clients_that_run_and_vanish_never_raise_what_postgresql_runs(postgres, proxy, connect):
    """Two permits; for two seconds clients start long statements and vanish."""
    seen, started = [], 0
    end = time.monotonic() + 2
    while time.monotonic() < end:
        session = connect(proxy, application_name="pair")
        session.send(Q("select pg_sleep(30) /* vanishing */"))
        started += 1
        seen.append(postgres.running("/* vanishing */"))
        leave(session, ("RST", "FIN", "X")[started % 3])
    assert max(seen) <= 2
    until(lambda: not postgres.running("/* vanishing */"), within=3, what="all were cancelled")
    proxy.assert_clean(within=3)


def test_the_backend_of_a_client_that_left_serves_the_next_in_a_clean_state(
    postgres, proxy, connect
):
    session = connect(proxy)
    session.query("set search_path = pg_catalog")
    session.query("begin")
    session.query("insert into public.t values (1)")
    session.reset_connection()
    proxy.assert_clean(within=2)
    for _ in range(4):
        follower = connect(proxy)
        assert follower.value("show search_path") == '"$user", public'
        assert follower.ask(S)[0].status() == "I"


def test_a_client_that_leaves_while_it_is_greeted_harms_nobody(proxy, connect):
    for i in range(30):
        session = Session(proxy.address)
        session.send(startup({"user": "alice", "database": "bulkhead"}))
        leave(session, ("FIN", "RST", "X")[i % 3])
    assert connect(proxy).value("select 42") == "42"


def test_bytes_behind_a_terminate_are_never_looked_at(postgres, proxy, connect):
    session = connect(proxy)
    session.send(Q("select 1 + 0") + X + Q(INSERT))
    with pytest.raises(Closed):
        session.until("Z", 2)
    postgres.settle()
    assert rows(postgres) == []
