"""A session that comes back before the time it was told, while no slot is free, is parked: it has neither
permit nor place, hears nothing, and is judged when its time has come."""

import signal

import pytest

from support.lanes import Holder, check_refusal
from support.messages import Q, query_batch, shape
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.needs_proxy

# Longer than a client and a scrape take on a slow machine.
LONG_MS = 800 * PATIENCE
WORKLOAD = {"name": "default", "concurrency": 1, "retry_after_cap": "5m", "pace_retries": True}


@pytest.fixture
def proxy(new_proxy, postgres):
    return new_proxy(postgres, {"workloads": [WORKLOAD]})


@pytest.fixture
def holder(connect, proxy):
    return Holder(connect, proxy)


def parked(proxy):
    return proxy.metrics().gauge("parked", "default")


def counted(proxy, what):
    return proxy.metrics().gauge(f"{what}_total", "default")


def refuse(session, data):
    got = session.ask(data)
    assert shape(got) in ("EZI", "EZE"), got
    return check_refusal(got[0], "default", "queue_full", longest_ms=300_000)


def park(proxy, session, data=None):
    """Comes back at once until what it is told is long, and then once more. The lane is stuck, so each
    time is about as long as all before it."""
    data = data or Q("select 'came'")
    while refuse(session, data) < LONG_MS:
        pass
    session.send(data)
    until(lambda: parked(proxy) == 1, what="it is parked")


@pytest.mark.parametrize("form", [Q, query_batch], ids=["simple", "extended"])
def test_one_that_is_parked_is_let_in_when_its_time_has_come(proxy, connect, holder, form):
    session = connect(proxy)
    park(proxy, session, form("select 'came'"))
    metrics = proxy.metrics()
    assert (metrics.gauge("running", "default"), metrics.gauge("waiting", "default")) == (1, 0)
    assert session.quiet(0.1) is None
    holder.release()
    assert [m.row() for m in session.until("Z", within=60) if m.kind == "D"] == [("came",)]
    assert parked(proxy) == 0


def test_it_costs_one_attempt_for_each_time_it_was_told(proxy, connect, holder):
    session = connect(proxy)
    park(proxy, session)
    metrics = proxy.metrics()
    refused = metrics.rejected("default", "queue_full")
    # All but the first attempt came early, and each but the last was judged.
    assert counted(proxy, "early_retries") == counted(proxy, "parkings") == refused
    assert counted(proxy, "arrived") == refused + 1
    holder.release()
    session.until("Z", within=60)
    assert counted(proxy, "unparked") == counted(proxy, "parkings")


def test_with_a_slot_free_it_is_admitted_at_once(proxy, connect, holder):
    session = connect(proxy)
    while refuse(session, Q("select 1 + 0")) < LONG_MS:
        pass
    before = counted(proxy, "parkings")
    holder.release()
    assert session.value("select 'came'") == "came"
    assert counted(proxy, "parkings") == before


def test_another_session_is_not_held_back(proxy, connect, holder):
    session, other = connect(proxy), connect(proxy)
    park(proxy, session)
    refuse(other, Q("select 1 + 0"))
    holder.release()
    assert other.value("select 'first'") == "first"
    session.until("Z", within=60)


def test_a_cancel_ends_it(proxy, connect, holder):
    session = connect(proxy)
    park(proxy, session)
    session.cancel()
    got = session.until("Z")
    assert [m.fields()["C"] for m in got if m.kind == "E"] == ["57014"]
    assert (parked(proxy), counted(proxy, "cancelled_while_parked")) == (0, 1)
    holder.release()
    assert session.value("select 'came'") == "came"


def test_leaving_ends_it(proxy, connect, holder):
    session = connect(proxy)
    park(proxy, session)
    session.close()
    until(lambda: parked(proxy) == 0, what="it is not parked any more")
    assert counted(proxy, "left_while_parked") == 1
    holder.release()


def test_a_drain_ends_it(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, {"workloads": [WORKLOAD]})
    holder, session = Holder(connect, proxy), connect(proxy)
    park(proxy, session)
    proxy.signal(signal.SIGTERM)
    first = session.read()
    assert first.fields()["C"] in ("40001", "57P01")
    holder.release()
    assert proxy.wait() == 0


def test_a_refused_block_is_parked_at_its_next_try(postgres, proxy, connect, holder):
    postgres.empty_tables()
    session = connect(proxy)
    while True:
        session.query("begin")
        if refuse(session, Q("select 1 + 0")) >= LONG_MS:
            break
        session.query("rollback")
    session.query("rollback")
    session.query("begin")
    session.send(Q("insert into t values (7)") + Q("commit"))
    until(lambda: parked(proxy) == 1, what="it is parked")
    holder.release()
    session.until("Z", 2, within=60)
    assert postgres.sql("select a from t") == [("7",)]
    postgres.empty_tables()


def test_unless_paced_each_attempt_is_answered_at_once(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, {"workloads": [{**WORKLOAD, "pace_retries": False}]})
    Holder(connect, proxy)
    session = connect(proxy)
    for _ in range(50):
        refuse(session, Q("select 1 + 0"))
    assert counted(proxy, "parkings") == 0
    assert proxy.metrics().rejected("default", "queue_full") == 50
    assert counted(proxy, "retries") == 49
