"""A client is lost without a word: in every state its work is ended and its permit is back within
keepalive and user timeout."""

import pytest

from support.messages import CopyData, H, Q, batch, startup
from support.postgres import DATABASE
from support.silent import vanish
from support.waiting import until, until_none

pytestmark = pytest.mark.needs_proxy

LIMITS = {"tcp_keepalive": "1s", "tcp_user_timeout": "1s"}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(
        postgres,
        {
            "limits": LIMITS,
            "auth": {"timeout": "2s"},
            "workloads": [
                {"name": "default", "concurrency": 2, "queue": 9, "queue_wait": "30s"},
            ],
        },
    )


INSERT = "insert into t values (1)"
STATES = {
    "idle": ([Q("select 1")], "Z", 1),
    "in a block": ([Q("begin"), Q(INSERT)], "Z", 2),
    "query running": ([Q("select pg_sleep(60)")], None, 0),
    "reading a large result": ([Q("select repeat('x', 1000) from generate_series(1, 300000)")], "T", 1),
    "copy in": ([Q("copy t (a) from stdin"), CopyData("1\n")], "G", 1),
    "copy out": ([Q("copy (select repeat('x', 1000) from generate_series(1, 300000)) to stdout")], "H", 1),
    "owing a Sync": ([batch(INSERT), H], "C", 1),
}


@pytest.mark.parametrize("state", STATES)
def test_a_client_that_vanishes_is_noticed(postgres, proxy, connect, state):
    chunks, kind, count = STATES[state]
    postgres.empty_tables()
    session = connect(proxy)
    session.send(*chunks)
    if kind:
        session.until(kind, count)
    else:
        until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    before = proxy.resources()[0]
    vanish(session)
    until(lambda: proxy.resources()[0] < before, 10, "its socket is closed")
    until_none(lambda: proxy.metrics().held(), 5, "its permit is back")
    postgres.settle()
    assert postgres.sql("select * from t") == []


def test_a_queued_client_that_vanishes_leaves_the_queue(proxy, connect):
    holders = [connect(proxy) for _ in range(2)]
    for holder in holders:
        holder.query("begin")
        holder.query("select 1")
    waiter = connect(proxy)
    waiter.send(Q("select 1"))
    until(lambda: proxy.waiting() == 1, what="it waits")
    vanish(waiter)
    until(lambda: proxy.waiting() == 0, 10, "it has left the queue")


def test_a_login_that_vanishes_is_given_up(proxy, connect):
    before = proxy.resources()[0]
    session = connect(proxy, login=False)
    session.send(startup({"user": "alice", "database": DATABASE})[:-4])
    until(lambda: proxy.resources()[0] > before, what="it is connected")
    vanish(session)
    until(lambda: proxy.resources()[0] <= before, 10, "its socket is closed")
