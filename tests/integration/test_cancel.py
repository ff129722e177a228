"""CancelRequest: it strikes the running transaction of its own session, or nothing."""

import os
import random
import time

import pytest

from support.lanes import WORKLOADS, Holder, queued, waiting
from support.messages import CopyData, CopyDone, H, Q, S, batch, codes, query_batch
from support.postgres import DATABASE
from support.rival import Rival
from support.waiting import Stopwatch, until
from support.wire import Session

needs_proxy = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


def start(postgres, session, data, marker="pg_sleep"):
    """Sends something slow and waits until PostgreSQL runs it."""
    session.send(data)
    until(lambda: postgres.running(marker), what=f"{marker} runs")


def test_a_running_query_is_cancelled(postgres, proxy, connect):
    session = connect(proxy)
    start(postgres, session, Q("select pg_sleep(30)"))
    with Stopwatch() as watch:
        assert session.cancel() == b""
        got = session.until("Z")
    assert codes(got)[-2:] == ["57014", "Z"] and got[-1].status() == "I"
    assert watch.seconds < 15
    assert session.value("select 42") == "42"


def test_a_running_batch_is_cancelled_and_its_rest_skipped(postgres, proxy, connect):
    postgres.empty_tables()
    session = connect(proxy)
    start(postgres, session, batch("select pg_sleep(30)") + batch("insert into t values (1)") + S)
    session.cancel()
    assert codes(session.until("Z"))[-2:] == ["57014", "Z"]
    assert session.value("select count(*) from t") == "0"


def test_a_cancelled_statement_fails_its_transaction(postgres, proxy, connect):
    session = connect(proxy)
    session.query("begin")
    start(postgres, session, Q("select pg_sleep(30)"))
    session.cancel()
    assert session.until("Z")[-1].status() == "E"
    assert codes(session.ask(Q("select 1 + 0"))) == ["25P02", "Z"]
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"


def test_only_the_running_one_of_a_pipeline_is_cancelled(postgres, proxy, connect):
    session = connect(proxy)
    start(
        postgres,
        session,
        query_batch("select pg_sleep(30)") + query_batch("select 2") + Q("select 3"),
    )
    session.cancel()
    got = session.until("Z", 3)
    assert [msg.fields()["C"] for msg in got if msg.kind == "E"] == ["57014"]
    assert [msg.row() for msg in got if msg.kind == "D"] == [("2",), ("3",)]


def test_a_copy_in_is_cancelled(postgres, proxy, connect):
    session = connect(proxy)
    session.send(Q("copy t from stdin"))
    session.until("G")
    session.cancel()
    session.send(CopyData("1\ta\n"), CopyDone)
    # The request may come too late to be seen while the server reads; then the copy ends by itself.
    assert codes(session.until("Z")) in (["57014", "Z"], ["C", "Z"])
    assert session.value("select 42") == "42"
    postgres.empty_tables()


@pytest.mark.parametrize(
    "opening",
    [[], ["begin"], ["begin", "select 1 + 0"], ["begin", "select 1/0"]],
    ids=["idle", "virtual", "in a block", "in a failed block"],
)
def test_a_cancel_of_an_idle_session_has_no_effect(proxy, connect, opening):
    session = connect(proxy)
    for text in opening:
        session.ask(Q(text))
    for _ in range(3):
        assert session.cancel() == b""
    assert session.quiet(0.1) is None
    got = session.ask(Q("select 1 + 0"))
    assert codes(got) in (["T", "D", "C", "Z"], ["25P02", "Z"])
    session.query("rollback")
    assert session.value("select 42") == "42"


@pytest.mark.parametrize(
    "pid, key", [(0, None), (None, "random"), (None, b"\0\0\0\0"), (2**31 - 1, "random")]
)
def test_a_wrong_key_is_closed_silently_and_has_no_effect(postgres, proxy, connect, pid, key):
    session = connect(proxy)
    start(postgres, session, Q("select pg_sleep(0.5)"))
    assert session.cancel(pid, os.urandom(len(session.key)) if key == "random" else key) == b""
    assert codes(session.until("Z")) == ["T", "D", "C", "Z"]


def test_the_key_of_another_session_does_not_fit(postgres, proxy, connect):
    session, other = connect(proxy), connect(proxy)
    assert (session.pid, session.key) != (other.pid, other.key)
    start(postgres, session, Q("select pg_sleep(0.5)"))
    other.cancel()
    session.cancel(pid=session.pid, key=other.key)
    session.cancel(pid=other.pid, key=session.key)
    assert codes(session.until("Z")) == ["T", "D", "C", "Z"]


def test_the_key_of_a_session_that_has_ended_does_nothing(postgres, proxy, connect):
    ended = connect(proxy)
    ended.terminate()
    session = connect(proxy)
    start(postgres, session, Q("select pg_sleep(0.3)"))
    ended.cancel()
    assert codes(session.until("Z")) == ["T", "D", "C", "Z"]


def test_keys_do_not_repeat(proxy, connect):
    keys = {(session.pid, session.key) for session in (connect(proxy) for _ in range(30))}
    assert len(keys) == 30
    assert len({key for _, key in keys}) == 30


# ---- while waiting


@needs_proxy
def test_a_waiting_query_is_cancelled_at_once_and_never_starts(postgres, proxy, connect):
    postgres.empty_tables()
    before = proxy.metrics().sum(
        "pgbulkhead_workload_cancelled_while_queued_total", workload="patient"
    )
    holder = Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", "insert into t values (1)")
    session.cancel()
    got = session.until("Z")
    assert codes(got) == ["57014", "Z"] and got[1].status() == "I"
    assert got[0].fields()["M"] == "canceling statement due to user request"
    assert proxy.waiting("patient") == 0
    holder.release()
    assert session.value("select 42") == "42"
    assert postgres.sql("select * from t") == []
    after = proxy.metrics().sum(
        "pgbulkhead_workload_cancelled_while_queued_total", workload="patient"
    )
    assert after == before + 1


@needs_proxy
def test_a_waiting_batch_that_is_cancelled_is_skipped_to_its_sync(proxy, connect):
    Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", batch("insert into t values (1)") + H)
    session.cancel()
    assert codes([session.read()]) == ["57014"]
    session.send(batch("insert into t values (2)"))
    assert session.quiet(0.1) is None
    assert codes(session.ask(S)) == ["Z"]


@needs_proxy
def test_a_cancelled_wait_behind_begin_leaves_a_failed_block(proxy, connect):
    Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", Q("begin") + Q("insert into t values (1)"))
    session.cancel()
    got = session.until("Z", 2)
    assert codes(got) == ["C", "Z", "57014", "Z"] and got[-1].status() == "E"
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"


@needs_proxy
def test_the_next_waiter_moves_up_when_one_is_cancelled(proxy, connect):
    holder = Holder(connect, proxy, "patient")
    first = queued(proxy, connect, "patient", "select 1 + 0", 1)
    second = queued(proxy, connect, "patient", "select 2", 2)
    first.cancel()
    waiting(proxy, "patient", 1)
    holder.release()
    assert codes(second.until("Z")) == ["T", "D", "C", "Z"]


@needs_proxy
def test_a_cancelled_wait_for_a_backend_gives_the_permit_back(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "20s"}}})
    session = connect(proxy)
    Holder(connect, proxy)
    session.send(Q("select 1 + 0"))
    until(lambda: proxy.running("default") == 2, what="the permit is held")
    session.cancel()
    assert codes(session.until("Z")) == ["57014", "Z"]
    until(lambda: proxy.running("default") == 1, what="the permit is back")


# ---- nobody else is hit


@pytest.fixture(scope="module")
def one_backend(module_proxy, postgres):
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "20s"}}})


def test_a_cancel_never_hits_the_next_user_of_the_backend(one_backend):
    """A fires cancels at random moments around the end of its queries; B uses the same backend all
    the time."""
    rng, outcomes = random.Random(1), {"57014": 0, "Z": 0}
    session = Session(one_backend.address, {"user": "alice", "database": DATABASE})
    with Rival(one_backend.address) as rival:
        for count in range(400):
            # Now and then one that no slow machine misses, and one that comes when all is over.
            is_certain, comes_after = count % 20 == 0, count % 20 == 10
            session.send(Q(f"select pg_sleep({0.2 if is_certain else 0.003})"))
            answer = session.until("Z") if comes_after else None
            time.sleep(rng.random() * 0.008)  # lint: a random moment
            session.cancel()
            got = codes(answer or session.until("Z"))
            assert got == ["T", "D", "C", "Z"] or got[-2:] == ["57014", "Z"]
            outcomes["57014" if "57014" in got else "Z"] += 1
        assert rival.rounds > 0
    assert min(outcomes.values()) > 0, outcomes
    session.terminate()


def test_a_client_that_cancels_and_leaves_harms_nobody(one_backend, postgres):
    rng = random.Random(2)
    with Rival(one_backend.address) as rival:
        for _ in range(40):
            session = Session(one_backend.address, {"user": "alice", "database": DATABASE})
            session.send(Q("select pg_sleep(0.01)"))
            time.sleep(rng.random() * 0.01)  # lint: a random moment
            session.cancel()
            rng.choice([Session.terminate, Session.close, Session.reset_connection])(session)
        before = rival.rounds
        until(lambda: rival.rounds > before + 5, what="the rival goes on")
    one_backend.assert_clean()
