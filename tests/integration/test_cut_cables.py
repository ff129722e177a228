"""The way to PostgreSQL, or to a client, is cut without a word, or only slow: what is gone is found
out within keepalive and user timeout, and what is slow is waited for."""

import threading

import pytest

from support.cable import Cable
from support.lanes import check_lost
from support.messages import Q, only_error, query_batch, shape
from support.waiting import until, until_none

pytestmark = pytest.mark.needs_proxy

BOUND = 8


@pytest.fixture
def cable(postgres):
    made = Cable(postgres.address)
    yield made
    made.close()


@pytest.fixture
def proxy(new_proxy, postgres, cable):
    postgres.settle()
    postgres.empty_tables()
    made = new_proxy(
        postgres,
        {
            "limits": {"tcp_keepalive": "1s", "tcp_user_timeout": "1s"},
            "databases": {
                "*": {
                    "conninfo": f"host=127.0.0.1 port={cable.port}",
                    "cancel_timeout": "500ms",
                    "pool_size": 4,
                }
            },
            "workloads": [
                {
                    "name": "default",
                    "concurrency": 2,
                    "queue": 9,
                    "queue_wait": "30s",
                    "orphan_hold": "2s",
                    "cancel_after_leave": "100ms",
                }
            ],
        },
    )
    return made


@pytest.fixture(autouse=True)
def clean(postgres, proxy):
    yield
    # What was cut off goes on in PostgreSQL, and nobody else ends it.
    postgres.end_backends()
    proxy.assert_clean()


SLEEP = "select pg_sleep(600)"


def start(postgres, session, *chunks):
    session.send(*chunks)
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")


def orphaned(proxy):
    return proxy.metrics().gauge("orphaned") == 1


# ---- PostgreSQL out of reach


def test_a_statement_out_of_reach_is_told_and_its_permit_is_an_orphans(
    postgres, proxy, cable, connect
):
    """It was received whole, so only keepalive can find out."""
    session = connect(proxy)
    start(postgres, session, Q("insert into t select 1 from pg_sleep(600)"))
    cable.cut()
    got = session.until("Z", within=BOUND)
    assert only_error(got)["C"] == "08007" and got[-1].status() == "I"
    assert orphaned(proxy) and proxy.running() == 1
    assert session.value("select 42") == "42"
    until_none(lambda: proxy.metrics().held(), BOUND, "the orphan's hold has passed")
    assert "orphan_released" in proxy.log()


def test_a_statement_that_never_arrived_in_a_block_is_told_and_its_permit_is_an_orphans(
    postgres, proxy, cable, connect
):
    """Nothing acknowledges it, so keepalive would not look."""
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    cable.cut()
    session.send(Q("insert into t values (2)"))
    got = session.until("Z", within=BOUND)
    check_lost(only_error(got))
    assert got[-1].status() == "E" and orphaned(proxy)
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"
    assert session.value("select 42") == "42"
    until_none(lambda: proxy.metrics().held(), BOUND, "the orphan's hold has passed")


def test_a_client_that_leaves_work_out_of_reach_leaves_an_orphan(postgres, proxy, cable, connect):
    session = connect(proxy)
    start(postgres, session, Q(SLEEP))
    cable.cut()
    session.reset_connection()
    until(lambda: orphaned(proxy), within=BOUND, what="the permit is an orphan's")
    until_none(lambda: proxy.metrics().held(), BOUND, "the orphan's hold has passed")


def test_idle_backends_out_of_reach_are_found_before_anybody_needs_them(
    postgres, proxy, cable, connect
):
    session = connect(proxy)
    session.query("select 1 + 0")
    cable.cut()
    before = proxy.resources()[0]
    until(lambda: proxy.resources()[0] < before, within=BOUND, what="its socket is closed")
    assert session.value("select 42") == "42"
    assert not proxy.metrics().held()


# ---- only slow


def test_a_postgresql_that_does_not_read_for_long_is_waited_for(postgres, proxy, connect):
    """It waits for a lock for four times the user timeout, and more than any window takes lies in
    front of it."""
    locker, session = connect(postgres), connect(proxy)
    locker.query("begin")
    locker.query("lock table t")
    unlock = threading.Timer(4, locker.query, ["commit"])
    unlock.start()
    size = 40_000_000
    session.send(
        query_batch("select count(*) from t"),
        query_batch("select length($1)", ["x" * size]),
        within=30,
    )
    got = session.until("Z", 2, within=30)
    unlock.join()
    assert [msg.row() for msg in got if msg.kind == "D"] == [("0",), (str(size),)]


def test_a_client_that_does_not_read_for_long_is_waited_for(proxy, connect):
    session = connect(proxy)
    session.send(Q("select repeat('x', 1000) from generate_series(1, 60000)"))
    session.until("T")
    locked_out = connect(proxy)
    assert locked_out.quiet(4) is None
    assert shape(session.until("Z", within=20))[-3:] == "CZI"
