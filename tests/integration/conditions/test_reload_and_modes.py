"""A changed budget or mode counts at once, for those who wait, and takes nothing from those who run."""

import pytest

from support.lanes import WORKLOADS, Holder, check_refusal, enter, queued, served, waiting
from support.messages import Q, codes
from support.reloads import reload, workload
from support.waiting import until

pytestmark = pytest.mark.needs_proxy


@pytest.fixture
def lanes(new_proxy, postgres):
    """A proxy, and how to change values of its workload `patient`."""
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})

    def change(**values):
        reload(proxy, {"workloads": workload(WORKLOADS, "patient", **values)})

    yield proxy, change
    proxy.assert_clean()


def runs(proxy, count):
    until(lambda: proxy.running("patient") == count, what=f"{count} run")


def test_a_raise_lets_waiters_in_at_once_and_in_order(lanes, connect, postgres):
    proxy, raise_to = lanes
    holder = Holder(connect, proxy, "patient")
    waiters = [queued(proxy, connect, "patient", enter(f"w{i}"), i + 1) for i in range(3)]
    blocked = [queued(proxy, connect, "patient", "select pg_sleep(0)", 4)]
    raise_to(concurrency=2)
    for session in [*waiters, *blocked]:
        assert "E" not in [msg.kind for msg in session.until("Z")]
    assert served(postgres) == ["w0", "w1", "w2"]
    assert proxy.running("patient") == 1
    holder.release()


def test_a_budget_below_what_runs_ends_nothing_and_admits_nobody_until_it_fits(lanes, connect):
    proxy, lower_to = lanes
    lower_to(concurrency=3)
    holders = [Holder(connect, proxy, "patient") for _ in range(3)]
    lower_to(concurrency=1)
    waiter = queued(proxy, connect, "patient", "select 42")
    for holder in holders:
        assert holder.session.value("select 'still there'") == "still there"
    for holder in holders[:2]:
        holder.release()
    runs(proxy, 1)
    assert proxy.waiting("patient") == 1
    holders[2].release()
    assert codes(waiter.until("Z")) == ["T", "D", "C", "Z"]


def test_a_workload_that_is_removed_ends_what_it_has_and_gets_nothing_new(
    lanes, connect, postgres
):
    proxy, change = lanes
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", enter("waiter"))
    newcomer = connect(proxy, application_name="patient")
    reload(proxy, {"workloads": [each for each in WORKLOADS if each["name"] != "patient"]})
    assert proxy.metrics().gauge("configured", "patient") == 0
    # It has no rule any more, so it is the last one's.
    assert newcomer.value("select 42") == "42"
    assert proxy.waiting("patient") == 1 and proxy.running("patient") == 1
    holder.release()
    assert codes(waiter.until("Z")) == ["C", "Z"]
    assert served(postgres) == ["waiter"]
    runs(proxy, 0)
    admitted = proxy.metrics().admitted("patient")
    change()
    assert newcomer.value("select 42") == "42"
    assert proxy.metrics().admitted("patient") == admitted + 1
    assert proxy.metrics().gauge("configured", "patient") == 1


def test_shadow_lets_waiters_pass_and_counts_what_it_would_refuse(lanes, connect):
    proxy, change = lanes
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 42")
    change(mode="shadow", queue=0)
    assert codes(waiter.until("Z")) == ["T", "D", "C", "Z"]
    others = [Holder(connect, proxy, "patient") for _ in range(2)]
    metrics = proxy.metrics()
    assert metrics.gauge("waiting", "patient") == 0
    assert metrics.rejected("patient", "queue_full") == 0
    would = metrics.sum(
        "pgbulkhead_workload_would_reject_total", workload="patient", reason="queue_full"
    )
    assert would == 1
    for each in (holder, *others):
        each.release()


def test_off_has_no_budget_and_enforcing_again_waits_until_it_fits(lanes, connect):
    proxy, change = lanes
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 42")
    change(mode="off")
    assert codes(waiter.until("Z")) == ["T", "D", "C", "Z"]
    other = Holder(connect, proxy, "patient")
    assert proxy.running("patient") == 2
    change(mode="enforce", queue=1)
    late = queued(proxy, connect, "patient", "select 42")
    session = connect(proxy, application_name="patient")
    check_refusal(session.ask(Q("select 2"))[0], "patient", "queue_full")
    holder.release()
    runs(proxy, 1)
    assert proxy.waiting("patient") == 1
    other.release()
    assert codes(late.until("Z")) == ["T", "D", "C", "Z"]
    waiting(proxy, "patient", 0)
