"""Very many transactions that end badly leave every permit of the workload free."""

import os

import pytest

from support.lanes import Holder, waiting
from support.messages import Q, codes, only_error
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

BUDGET = 4
LANE = {"name": "default", "concurrency": BUDGET, "queue": 20, "queue_wait": "20s"}
TIMES = 1000 if os.environ.get("PGBULKHEAD_TEST_FULL") else 200


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": [{**LANE, "cancel_after_leave": "0"}]})


@pytest.fixture(autouse=True)
def full_capacity(proxy, connect):
    """Afterwards as many as ever run at once, and not one more."""
    yield
    until(lambda: not proxy.metrics().held(), within=10, what="nothing is held")
    holders = [Holder(connect, proxy) for _ in range(BUDGET)]
    one_more = connect(proxy)
    one_more.send(Q("select 42"))
    waiting(proxy, "default", 1)
    assert proxy.running() == BUDGET
    for holder in holders:
        holder.release()
    assert codes(one_more.until("Z")) == ["T", "D", "C", "Z"]


def test_errors_leave_full_capacity(proxy, connect):
    session = connect(proxy)
    for _ in range(TIMES):
        assert only_error(session.ask(Q("select 1/0")))["C"] == "22012"


def test_cancels_leave_full_capacity(proxy, connect):
    session = connect(proxy)
    for _ in range(TIMES):
        session.send(Q("select pg_sleep(30)"))
        session.cancel()
        # One that comes before the statement has begun strikes nothing.
        while not (first := session.quiet(0.3)):
            session.cancel()
        assert codes([first, *session.until("Z")])[-2:] == ["57014", "Z"]


def test_timeouts_leave_full_capacity(proxy, connect):
    session = connect(proxy)
    for _ in range(TIMES):
        got = session.ask(Q("set local statement_timeout = '1ms'; select pg_sleep(30)"))
        assert only_error(got)["C"] == "57014"


def test_clients_that_go_leave_full_capacity(proxy, connect):
    for _ in range(TIMES):
        session = connect(proxy)
        session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
        session.send(Q("select pg_sleep(30)"))
        session.reset_connection()


def test_lost_backends_leave_full_capacity(proxy, connect):
    session = connect(proxy)
    for _ in range(TIMES):
        got = session.ask(Q("select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)"))
        assert only_error(got)["C"] == "08007"
