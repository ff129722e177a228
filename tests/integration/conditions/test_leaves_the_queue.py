"""Who leaves the queue never starts, and gives back its place and nothing else."""

import signal

import pytest

from support.lanes import WORKLOADS, Holder, check_refusal, queued, waiting
from support.messages import Q, codes
from support.reloads import reload, workload
from support.waiting import PATIENCE

pytestmark = pytest.mark.needs_proxy

INSERT = "insert into t values (1)"
DEADLINE = 0.2 * PATIENCE


def only_the_place_is_back(proxy):
    waiting(proxy, "patient", 0)
    assert proxy.running("patient") == 1


def test_a_client_that_goes_away_never_starts(proxy, connect, rows):
    holder = Holder(connect, proxy, "patient")
    queued(proxy, connect, "patient", INSERT).reset_connection()
    only_the_place_is_back(proxy)
    holder.release()
    assert holder.session.value("select 42") == "42"
    assert rows() == []


def test_a_cancelled_wait_never_starts(proxy, connect, rows):
    holder = Holder(connect, proxy, "patient")
    session = queued(proxy, connect, "patient", INSERT)
    session.cancel()
    assert codes(session.until("Z")) == ["57014", "Z"]
    only_the_place_is_back(proxy)
    holder.release()
    assert session.value("select 42") == "42"
    assert rows() == []


def test_a_wait_that_reaches_its_deadline_never_starts(proxy, connect, rows):
    holder = Holder(connect, proxy, "patient")
    session = connect(proxy, application_name="patient")
    told = session.ask(Q(f"{INSERT} /*deadline_ms='{DEADLINE * 1000:.0f}'*/"), within=20)
    check_refusal(told[0], "patient", "deadline")
    only_the_place_is_back(proxy)
    holder.release()
    assert session.value("select 42") == "42"
    assert rows() == []


def test_a_drain_tells_waiters_and_none_of_them_starts(new_proxy, postgres, connect, rows):
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", INSERT)
    proxy.signal(signal.SIGTERM)
    told = waiter.read()
    assert told.kind == "E" and told.fields()["C"] in ("40001", "57P01")
    holder.session.query("insert into t values (2)")
    holder.session.query("commit")
    assert proxy.wait() == 0
    assert rows() == ["2"]


def test_a_reload_that_shortens_the_wait_ends_it_and_nothing_starts(
    new_proxy, postgres, connect, rows
):
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", INSERT)
    reload(proxy, {"workloads": workload(WORKLOADS, "patient", queue_wait="1ms")})
    check_refusal(waiter.until("Z")[0], "patient", "queue_timeout")
    only_the_place_is_back(proxy)
    holder.release()
    assert waiter.value("select 42") == "42"
    assert rows() == []
