"""Waiting for a permit and for a backend: who comes when, how long, and what is said at the end."""

import threading
import time

import pytest

from support.lanes import (
    HASTY_WAIT,
    WORKLOADS,
    Holder,
    check_refusal,
    enter,
    queued,
    served,
    waiting,
)
from support.messages import B, D, E, H, P, Q, S, batch, query_batch, shape
from support.postgres import DATABASE
from support.waiting import PATIENCE, Stopwatch, until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

# How much later than its time a thing may happen on a busy machine of two cores.
SLACK = 0.4 * PATIENCE


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.empty_tables()


def test_a_waiter_is_served_when_the_permit_comes_back(proxy, connect):
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 'waited'")
    assert waiter.quiet(0.1) is None
    holder.release()
    assert waiter.until("D")[-1].row() == ("waited",)
    waiter.until("Z")


def test_waiters_are_served_in_the_order_of_their_arrival(postgres, proxy, connect):
    holder = Holder(connect, proxy, "patient")
    sessions = [queued(proxy, connect, "patient", enter(i), i + 1) for i in range(20)]
    holder.release()
    for session in sessions:
        session.until("Z")
    assert served(postgres) == [str(i) for i in range(20)]


def test_waiters_of_every_protocol_are_served_in_one_order(postgres, proxy, connect):
    holder = Holder(connect, proxy, "patient")
    forms = [
        lambda i: Q(enter(i)),
        lambda i: query_batch(enter(i)),
        lambda i: batch(enter(i)) + S,
        lambda i: Q("begin") + Q(enter(i)) + Q("commit"),
        lambda i: Q(f"begin; {enter(i)}; commit"),
    ]
    sessions = [queued(proxy, connect, "patient", forms[i % 5](i), i + 1) for i in range(15)]
    holder.release()
    for i, session in enumerate(sessions):
        session.until("Z", 3 if i % 5 == 3 else 1)
    assert served(postgres) == [str(i) for i in range(15)]


def test_a_newcomer_never_overtakes_a_waiter(postgres, proxy, connect):
    """The holder itself comes back as soon as it has given its permit back, while others wait."""
    holder = Holder(connect, proxy, "patient")
    waiters = [queued(proxy, connect, "patient", enter(f"waiter {i}"), i + 1) for i in range(3)]
    holder.session.query("commit")
    holder.session.query(enter("newcomer"))
    for waiter in waiters:
        waiter.until("Z")
    assert served(postgres)[-1] == "newcomer"


def test_never_more_run_or_wait_than_the_budget_says(postgres, proxy, connect):
    """50 clients in closed loops on two permits: PostgreSQL is asked as often as possible what
    runs."""
    stop, seen = threading.Event(), []

    def loop(session):
        while not stop.is_set():
            session.query("select pg_sleep(0.005) /* pair */", within=20)

    sessions = [connect(proxy, application_name="pair") for _ in range(50)]
    threads = [threading.Thread(target=loop, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        seen.append(postgres.running("/* pair */"))
    stop.set()
    for thread in threads:
        thread.join(30)
    assert max(seen) <= 2, max(seen)
    metrics = proxy.metrics()
    assert metrics.gauge("peak_running", "pair") == 2
    assert metrics.gauge("peak_waiting", "pair") <= 50


# ---- the end of patience


def test_a_wait_that_is_too_long_is_refused_with_its_own_reason(proxy, connect):
    Holder(connect, proxy, "hasty")
    session = connect(proxy, application_name="hasty")
    with Stopwatch() as watch:
        got = session.ask(Q("select 1 + 0"))
    assert HASTY_WAIT <= watch.seconds < HASTY_WAIT + SLACK
    check_refusal(got[0], "hasty", "queue_timeout")
    waited = int(got[0].fields()["D"].rsplit("=", 1)[1])
    assert HASTY_WAIT * 1000 <= waited <= watch.seconds * 1000 + 1
    assert [msg.kind for msg in got] == ["E", "Z"] and got[1].status() == "I"


def test_a_full_queue_is_refused_at_once_and_counted_apart(proxy, connect):
    before = proxy.metrics()
    Holder(connect, proxy, "hasty")
    waiter = queued(proxy, connect, "hasty", "select 1 + 0")
    session = connect(proxy, application_name="hasty")
    with Stopwatch() as watch:
        got = session.ask(Q("select 2"))
    assert watch.seconds < SLACK / 2
    check_refusal(
        got[0], "hasty", "queue_full", detail="running=1 limit=1 waiting=1 queue=1 waited_ms=0"
    )
    check_refusal(waiter.until("Z")[0], "hasty", "queue_timeout")
    after = proxy.metrics()
    for reason in ("queue_full", "queue_timeout"):
        assert after.rejected("hasty", reason) == before.rejected("hasty", reason) + 1


def test_a_refused_waiter_frees_its_place_and_is_served_the_next_time(proxy, connect):
    holder = Holder(connect, proxy, "hasty")
    session = connect(proxy, application_name="hasty")
    for _ in range(2):
        check_refusal(session.ask(Q("select 1 + 0"))[0], "hasty", "queue_timeout")
    holder.release()
    assert session.value("select 2") == "2"


def test_a_batch_whose_rest_comes_after_the_refusal_is_discarded_to_its_sync(
    postgres, proxy, connect
):
    Holder(connect, proxy, "hasty")
    session = connect(proxy, application_name="hasty")
    session.send(P("insert into t values (1)"), D("S"), H)
    check_refusal(session.read(), "hasty", "queue_timeout")
    session.send(B(), E(), S)
    assert [msg.kind for msg in session.until("Z")] == ["Z"]
    assert postgres.sql("select * from t") == []


def test_begin_and_a_statement_that_waits_too_long_leave_a_failed_block(postgres, proxy, connect):
    Holder(connect, proxy, "hasty")
    session = connect(proxy, application_name="hasty")
    got = session.ask(Q("begin"), Q("insert into t values (1)"), Q("commit"), ready=3)
    assert shape(got) == "CZTEZECZI"
    check_refusal(got[2], "hasty", "queue_timeout")
    assert postgres.sql("select * from t") == []


def test_a_queue_place_without_patience_is_refused_at_once(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {"workloads": [{"name": "default", "concurrency": 1, "queue": 5, "queue_wait": 0}]},
    )
    Holder(connect, proxy)
    with Stopwatch() as watch:
        got = connect(proxy).ask(Q("select 1 + 0"))
    assert watch.seconds < SLACK / 2
    check_refusal(got[0], "default", "queue_timeout")


def test_a_transaction_that_waits_is_answered_in_order_with_what_came_before(proxy, connect):
    """A local answer behind a waiting query must wait for it."""
    holder = Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", Q("select 1 + 0") + Q("") + S + Q("rollback"))
    assert session.quiet(0.1) is None
    holder.release()
    assert "".join(msg.kind for msg in session.until("Z", 4)) == "TDCZIZZNCZ"


def test_a_large_query_waits_whole_and_is_served(proxy, connect):
    holder = Holder(connect, proxy, "patient")
    text = "x" * 5_000_000
    session = connect(proxy, application_name="patient")
    sender = threading.Thread(
        target=session.send,
        args=(query_batch("select length($1::text)", [text]),),
        kwargs={"within": 30},
    )
    sender.start()
    waiting(proxy, "patient", 1)
    holder.release()
    sender.join(30)
    assert [msg.row() for msg in session.until("Z", within=30) if msg.kind == "D"] == [("5000000",)]


# ---- the backend


SMALL_POOL = {
    "databases": {"*": {"pool_size": 1, "pool_wait": "300ms"}},
    "workloads": [{"name": "default", "concurrency": 4, "queue": 5, "queue_wait": "5s"}],
}


def test_no_backend_in_time_is_refused_with_its_own_reason(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, SMALL_POOL)
    session = connect(proxy)
    holder = Holder(connect, proxy)
    with Stopwatch() as watch:
        got = session.ask(Q("select 1 + 0"))
    assert 0.3 <= watch.seconds < 0.3 + SLACK
    check_refusal(got[0], "default", "pool_timeout")
    assert proxy.metrics().rejected("default", "pool_timeout") == 1
    assert proxy.running("default") == 1
    holder.release()
    assert session.value("select 2") == "2"


def test_begin_and_a_statement_without_a_backend_leave_a_failed_block(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, SMALL_POOL)
    session = connect(proxy)
    Holder(connect, proxy)
    got = session.ask(Q("begin"), Q("select 1 + 0"), Q("rollback"), ready=3)
    assert shape(got) == "CZTEZECZI"
    check_refusal(got[2], "default", "pool_timeout")


def test_the_pool_never_has_more_backends_than_its_size(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 3, "pool_wait": "10s"}}})
    sessions = [connect(proxy, user=user, database="postgres") for user in ("alice", "bob") * 6]
    for session in sessions:
        session.send(Q("select pg_sleep(0.03)"))
    most = 0
    for session in sessions:
        most = max(most, backends(postgres))
        session.until("Z")
    assert most <= 3


def backends(postgres):
    """No other proxy of this file works in this database."""
    return postgres.count(
        """select count(*) from pg_stat_activity
            where backend_type = 'client backend' and datname = 'postgres'"""
    )


def test_a_small_workload_gets_a_backend_before_the_next_of_a_large_one(
    postgres, new_proxy, connect
):
    """Backends go to the workload that uses the smallest part of its budget, not to who asked
    first."""
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 3, "pool_wait": "10s"}},
            "workloads": [
                {"name": "small", "match": {"application_name": "small"}, "concurrency": 2},
                {"name": "default", "concurrency": 8},
            ],
        },
    )
    large = [connect(proxy) for _ in range(8)]
    for i, session in enumerate(large):
        session.send(Q(f"begin; {enter(f'large {i}')}; select pg_sleep(0.1); commit"))
    until(lambda: proxy.running("default") == 8, what="all of the large workload have permits")
    small = connect(proxy, application_name="small")
    small.send(Q(enter("small")))
    small.until("Z")
    for session in large:
        session.until("Z")
    assert served(postgres).index("small") <= 4


# ---- pipelines


def test_a_long_pipeline_gives_way_to_a_waiter_after_256_sync_points(postgres, proxy, connect):
    """It drains, gives its permit back, and arrives anew behind who waits."""
    holder = Holder(connect, proxy, "patient")
    pipeline = b"".join(query_batch(enter("runner")) for _ in range(1000))
    runner = queued(proxy, connect, "patient", pipeline, 1)
    waiter = queued(proxy, connect, "patient", enter("waiter"), 2)
    holder.release()
    got = runner.until("Z", 1000, within=20)
    waiter.until("Z")
    assert not [msg for msg in got if msg.kind == "E"]
    assert served(postgres).index("waiter") <= 257


def test_a_pipeline_without_end_gives_way_to_a_waiter_after_half_a_second(postgres, proxy, connect):
    """Something is always owed to the runner, so that it never gives its permit back by itself."""
    holder = Holder(connect, proxy, "patient")
    step = Q(f"{enter('runner')}; select pg_sleep(0.1)")
    runner = queued(proxy, connect, "patient", step + step, 1)
    waiter = queued(proxy, connect, "patient", enter("waiter"), 2)
    holder.release()
    for _ in range(18):
        runner.until("Z")
        runner.send(step)
    runner.until("Z", 2)
    waiter.until("Z")
    assert served(postgres).index("waiter") <= 9


def test_a_pipeline_that_nobody_waits_for_keeps_its_permit(postgres, proxy, connect):
    before = proxy.metrics().admitted("patient")
    session = connect(proxy, application_name="patient")
    session.ask(
        Q("select pg_sleep(0.1)"), *(query_batch("select 1 + 0") for _ in range(200)), ready=201
    )
    assert proxy.metrics().admitted("patient") - before <= 201


def test_a_block_is_never_interrupted_for_a_waiter(postgres, proxy, connect):
    runner = connect(proxy, application_name="patient")
    runner.send(
        Q("begin"),
        Q("select pg_sleep(0.2)"),
        *(query_batch(enter("runner")) for _ in range(600)),
        Q("commit"),
    )
    until(lambda: proxy.running("patient") == 1, what="the block runs")
    waiter = queued(proxy, connect, "patient", enter("waiter"))
    runner.until("Z", 603, within=20)
    waiter.until("Z")
    assert served(postgres)[-1] == "waiter"


def test_a_login_needs_no_permit(proxy, connect):
    Holder(connect, proxy, "tight")
    with Stopwatch() as watch:
        session = Session(
            proxy.address, {"user": "alice", "database": DATABASE, "application_name": "tight"}
        )
    assert watch.seconds < SLACK * 2
    session.terminate()
