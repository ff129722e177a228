"""A workload is full: who comes next is refused, and that is all that happens."""

import uuid

import pytest

from support.lanes import Holder, check_refusal
from support.messages import Q, shape
from support.waiting import until

pytestmark = pytest.mark.needs_proxy


@pytest.fixture
def full(proxy, connect):
    """The only permit of `tight`, which has no queue, is held."""
    return Holder(connect, proxy, "tight")


@pytest.fixture
def session(proxy, connect):
    return connect(proxy, application_name="tight")


def refuse(session, text="select 1 + 0"):
    got = session.ask(Q(text))
    assert shape(got) == "EZI"
    check_refusal(got[0], "tight", "queue_full")
    return got[0].fields()


def test_the_refusal_comes_without_a_wait(full, session):
    """It says itself how long it has waited."""
    assert refuse(session)["D"] == "running=1 limit=1 waiting=0 queue=0 waited_ms=0"


def test_not_a_byte_reaches_postgresql(full, session, postgres):
    marker, since = uuid.uuid4().hex, postgres.log_end()
    refuse(session, f"insert into t values (1) /* {marker} */")
    assert full.session.value("select 7") == "7"
    assert not postgres.has_seen(marker, since)


def test_there_is_nothing_to_give_back(full, session, proxy):
    before = proxy.metrics().admitted("tight")
    refuse(session)
    session.terminate()
    assert proxy.running("tight") == 1 and proxy.waiting("tight") == 0
    assert proxy.metrics().admitted("tight") == before


def test_other_workloads_do_not_feel_it(full, session, proxy, connect):
    before = proxy.metrics().rejected("default", "queue_full")
    other = connect(proxy)
    for number in range(20):
        refuse(session)
        assert other.value(f"select {number}") == str(number)
    assert proxy.metrics().rejected("default", "queue_full") == before


def test_the_connection_is_the_same_and_usable(full, session, proxy):
    refuse(session)
    full.release()
    until(lambda: proxy.running("tight") == 0, what="the permit is back")
    session.query("begin")
    session.query("insert into t values (1)")
    assert session.ask(Q("commit"))[0].tag() == "COMMIT"
