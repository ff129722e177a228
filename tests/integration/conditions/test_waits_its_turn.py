"""A place in the queue: who is served when, and how a wait ends without service."""

import pytest

from support.lanes import HASTY_WAIT, Holder, check_refusal, enter, queued, served
from support.messages import Q
from support.waiting import until

pytestmark = pytest.mark.needs_proxy


def waited_ms(refusal):
    return int(refusal.fields()["D"].rsplit("=", 1)[1])


def test_waiters_are_served_in_their_order(proxy, postgres, connect):
    holder = Holder(connect, proxy, "patient")
    sessions = [queued(proxy, connect, "patient", enter(i), i + 1) for i in range(8)]
    holder.release()
    for session in sessions:
        session.until("Z")
    assert served(postgres) == [str(i) for i in range(8)]


def test_a_wait_ends_at_its_time(proxy, connect):
    Holder(connect, proxy, "hasty")
    refusal = connect(proxy, application_name="hasty").ask(Q("select 1 + 0"))[0]
    check_refusal(refusal, "hasty", "queue_timeout")
    assert waited_ms(refusal) >= HASTY_WAIT * 1000


def test_a_wait_of_no_time_is_none(new_proxy, postgres, connect):
    lane = {"name": "default", "concurrency": 1, "queue": 5, "queue_wait": 0}
    proxy = new_proxy(postgres, {"workloads": [lane]})
    holder = Holder(connect, proxy)
    session = connect(proxy)
    check_refusal(session.ask(Q("select 1 + 0"))[0], "default", "queue_timeout")
    holder.release()
    until(lambda: proxy.running() == 0, what="the permit is back")
    assert session.value("select 7") == "7"


def test_a_full_queue_and_a_wait_too_long_are_counted_apart(proxy, connect):
    before = proxy.metrics()
    Holder(connect, proxy, "hasty")
    waiter = queued(proxy, connect, "hasty", "select 1 + 0")
    refused = connect(proxy, application_name="hasty").ask(Q("select 2"))[0]
    check_refusal(refused, "hasty", "queue_full")
    check_refusal(waiter.until("Z")[0], "hasty", "queue_timeout")
    after = proxy.metrics()
    for reason in ("queue_full", "queue_timeout"):
        assert after.rejected("hasty", reason) == before.rejected("hasty", reason) + 1


def test_nobody_overtakes(proxy, postgres, connect):
    """The holder gives its permit back and comes again at once, while two wait."""
    holder = Holder(connect, proxy, "patient")
    waiters = [queued(proxy, connect, "patient", enter(f"waiter {i}"), i + 1) for i in range(2)]
    holder.session.query("commit")
    holder.session.query(enter("newcomer"))
    for waiter in waiters:
        waiter.until("Z")
    assert served(postgres) == ["waiter 0", "waiter 1", "newcomer"]
