"""A backend is lost: the client is told what is known of the outcome, and lives on."""

import threading
import time

import pytest

from support.lanes import check_lost
from support.messages import (
    CopyData,
    CopyDone,
    H,
    Q,
    S,
    batch,
    only_error,
    query_batch,
    shape,
)
from support.waiting import until

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.settle()
    postgres.empty_tables()


def start(postgres, session, data, marker):
    session.send(data)
    until(lambda: postgres.running(marker), what=f"{marker} runs")


# ---- in a block


def check_failed_block(session, postgres):
    """25P02 until the client ends the block, COMMIT never claims success, and then work goes on."""
    assert only_error(session.ask(Q("insert into t values (2)")))["C"] == "25P02"
    got = session.ask(Q("commit"))
    assert shape(got) == "CZI" and got[0].tag() == "ROLLBACK"
    assert session.value("select 42") == "42"
    assert postgres.sql("select * from t") == []


@pytest.mark.parametrize(
    "data",
    [
        Q("insert into t values (2)"),
        query_batch("insert into t values (2)"),
        Q("commit"),
        query_batch("commit"),
        Q("rollback"),
    ],
    ids=["query", "batch", "commit", "commit by batch", "rollback"],
)
def test_a_backend_lost_between_the_statements_of_a_block_is_told_with_the_next(
    postgres, proxy, connect, data
):
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1) /* between */"), ready=2)
    assert postgres.end_backends("between") == 1
    until(lambda: not postgres.busy(), what="the backend has gone")
    # The proxy may learn of the loss before the next statement or by it.
    came = session.quiet(0.05)
    got = ([came] if came else []) + session.ask(data)
    if any(msg.kind == "E" for msg in got):
        check_lost(only_error(got))
    assert [msg.tag() for msg in got if msg.kind == "C"] in ([], ["ROLLBACK"])
    if got[-1].status() == "E":
        check_failed_block(session, postgres)
    assert postgres.sql("select * from t") == []
    assert session.value("select 42") == "42"


def test_a_backend_lost_while_a_statement_of_a_block_runs_fails_the_block(postgres, proxy, connect):
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    start(postgres, session, Q("select pg_sleep(30) /* running */"), "/* running */")
    assert postgres.end_backends("/* running */") == 1
    got = session.until("Z")
    assert shape(got)[-2:] == "ZE"
    check_lost(only_error(got))
    check_failed_block(session, postgres)


def test_a_backend_lost_under_a_batch_of_a_block_skips_to_the_sync(postgres, proxy, connect):
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    start(postgres, session, batch("select pg_sleep(30) /* batch */") + H, "/* batch */")
    assert postgres.end_backends("/* batch */") == 1
    check_lost(only_error(session.until("E")))
    session.send(batch("insert into t values (3)"))
    assert session.quiet(0.1) is None
    assert shape(session.ask(S)) == "ZE"
    check_failed_block(session, postgres)


def test_a_backend_lost_in_the_middle_of_a_pipelined_block_runs_nothing_in_autocommit(
    postgres, proxy, connect
):
    session = connect(proxy)
    start(
        postgres,
        session,
        Q("begin")
        + Q("insert into t values (1)")
        + Q("select pg_sleep(30) /* pipe */")
        + Q("insert into t values (2)"),
        "/* pipe */",
    )
    assert postgres.end_backends("/* pipe */") == 1
    got = session.until("Z", 4)
    assert [msg.status() for msg in got if msg.kind == "Z"] == ["T", "T", "E", "E"]
    assert [msg.fields()["C"] for msg in got if msg.kind == "E"] == ["40001", "25P02"]
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"
    assert postgres.sql("select * from t") == []


# ---- outcome unknown


@pytest.mark.parametrize(
    "data",
    [
        Q("insert into t select 1 from pg_sleep(30)"),
        query_batch("insert into t select 1 from pg_sleep(30)"),
        Q("insert into t select 1 from pg_sleep(30); select 1 + 0"),
        Q("begin; insert into t select 1 from pg_sleep(30); commit"),
    ],
    ids=["query", "batch", "text of two", "block in one text"],
)
def test_a_backend_lost_under_an_autocommit_statement_leaves_the_outcome_unknown(
    postgres, proxy, connect, data
):
    session = connect(proxy)
    start(postgres, session, data, "pg_sleep")
    assert postgres.end_backends("pg_sleep") == 1
    got = session.until("Z")
    assert only_error(got)["C"] == "08007"
    assert got[-1].status() == "I"
    assert session.value("select 42") == "42"
    assert postgres.sql("select * from t") == []


@pytest.mark.parametrize("data", [Q("commit"), query_batch("commit")], ids=["query", "batch"])
def test_a_backend_lost_under_a_commit_leaves_the_outcome_unknown(postgres, proxy, connect, data):
    session = connect(proxy)
    session.ask(
        Q("begin"),
        Q("insert into t values (1)"),
        Q("insert into slow_commit values (300)"),
        ready=3,
    )
    start(postgres, session, data, "commit")
    assert postgres.end_backends("commit") == 1
    got = session.until("Z")
    assert only_error(got)["C"] == "08007" and got[-1].status() == "I"
    assert not [msg for msg in got if msg.kind == "C"]
    assert session.value("select 42") == "42"


def test_a_backend_lost_under_prepare_transaction_leaves_the_outcome_unknown(
    postgres, proxy, connect
):
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into slow_commit values (300)"), ready=2)
    start(postgres, session, Q("prepare transaction 'lost'"), "prepare transaction")
    assert postgres.end_backends("prepare transaction") == 1
    got = session.until("Z")
    assert only_error(got)["C"] == "08007" and got[-1].status() == "I"


def test_a_backend_lost_in_the_middle_of_a_result_ends_it_with_an_error(postgres, proxy, connect):
    session = connect(proxy)
    session.send(
        Q("select repeat('x', 1000), pg_sleep(0.0005) from generate_series(1, 100000) /* rows */")
    )
    session.until("D")
    assert postgres.end_backends("/* rows */") == 1
    got = session.until("Z")
    assert only_error(got)["C"] == "08007"
    assert not [msg for msg in got if msg.kind == "C"]
    assert session.value("select 42") == "42"


def test_a_backend_lost_under_a_copy_ends_it_with_an_error_and_late_data_is_dropped(
    postgres, proxy, connect
):
    session = connect(proxy)
    session.send(Q("copy t from stdin /* copy */"))
    session.until("G")
    session.send(CopyData("1\ta\n"))
    assert postgres.end_backends("/* copy */") == 1
    assert only_error(session.until("Z"))["C"] == "08007"
    session.send(CopyData("2\tb\n"), CopyDone)
    assert session.value("select 42") == "42"
    assert postgres.sql("select * from t") == []


# ---- idle backends


def test_idle_backends_that_end_are_nobodys_news(postgres, proxy, connect):
    sessions = [connect(proxy) for _ in range(8)]
    for session in sessions:
        session.send(Q("select pg_sleep(0.05)"))
    for session in sessions:
        session.until("Z")
    for _ in range(3):
        assert postgres.end_backends() > 0
        # Until PostgreSQL has done it, a query may still reach one that is about to go.
        until(lambda: postgres.backends() == 0, what="the backends have gone")
        for session in sessions:
            assert session.value("select 42") == "42"


def test_backends_killed_at_random_give_each_client_its_one_answer(postgres, proxy, connect):
    stop, wrong = threading.Event(), []

    def loop(session):
        while not stop.is_set():
            got = session.ask(query_batch("select pg_sleep(0.002)"))
            bad = [msg.fields()["C"] for msg in got if msg.kind == "E"]
            if shape(got) != "12TDCZI" and bad not in (["08007"], ["40001"]):
                wrong.append(got)

    threads = [threading.Thread(target=loop, args=(connect(proxy),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        postgres.end_backends()
        stop.wait(0.03)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert not wrong, wrong[:2]
