"""A permit without a backend: its wait is another than the queue's, and it ends by itself."""

import pytest

from support.lanes import Holder, check_refusal, hints
from support.messages import Q, only_error
from support.waiting import until
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy


def lane(name, **more):
    match = {} if name == "default" else {"match": {"application_name": name}}
    return {"name": name, **match, "concurrency": 4, "queue": 5, "queue_wait": "20s", **more}


def small_pool(size, *lanes, wait="300ms"):
    return {
        "databases": {"*": {"pool_size": size + (size > 1), "pool_wait": wait}},
        "workloads": [*lanes, lane("default")],
    }


def test_the_wait_for_a_backend_is_not_the_wait_in_the_queue(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, small_pool(1))
    Holder(connect, proxy)
    check_refusal(connect(proxy).ask(Q("select 1 + 0"))[0], "default", "pool_timeout")
    metrics = proxy.metrics()
    assert metrics.rejected("default", "pool_timeout") == 1
    assert metrics.rejected("default", "queue_timeout") == 0


def test_more_permits_than_backends_run_as_many_as_there_are_backends(
    new_proxy, postgres, connect
):
    proxy = new_proxy(postgres, small_pool(2, wait="20s"))
    sessions = [connect(proxy) for _ in range(6)]
    most = 0
    for session in sessions:
        session.send(Q("select pg_sleep(0.1) /* larger */"))
    for session in sessions:
        most = max(most, postgres.running("/* larger */"))
        assert "E" not in [msg.kind for msg in session.until("Z")]
    assert most <= 2


def test_outsiders_that_hold_the_pool_are_told_as_such(new_proxy, postgres, connect):
    """No permit of the workload is held: others have all the backends."""
    proxy = new_proxy(postgres, small_pool(2, lane("other")))
    session = connect(proxy)
    outsiders = [Holder(connect, proxy, "other") for _ in range(2)]
    assert proxy.running("default") == 0
    check_refusal(session.ask(Q("select 1 + 0"))[0], "default", "pool_timeout")
    for outsider in outsiders:
        outsider.release()
    assert session.value("select 42") == "42"


@pytest.fixture
def single(postgres, new_proxy, connect):
    """A proxy and a session of a role that may have one backend, which someone else has taken."""
    postgres.sql("drop role if exists single; create role single login connection limit 1")
    proxy = new_proxy(postgres, small_pool(2))
    session = connect(proxy, user="single")
    session.query("select 1 /* single */")
    postgres.end_backends("/* single */")
    own = "select count(*) from pg_stat_activity where usename = 'single'"
    until(lambda: postgres.count(own) == 0, what="the backend has gone")
    other = Session(postgres.address, {"user": "single", "database": "bulkhead"})
    yield proxy, session, other
    other.terminate()


def refused_by_the_server(session):
    fields = only_error(session.ask(Q("select 1 + 0")))
    assert fields["C"] == "40001" and hints(fields)["reason"] in ("backend_down", "pool_timeout")


def test_a_backend_that_the_server_refuses_is_a_refusal_and_nothing_is_kept(single):
    proxy, session, _ = single
    for _ in range(3):
        refused_by_the_server(session)
    proxy.assert_clean()


def test_service_returns_by_itself(single):
    _, session, other = single
    refused_by_the_server(session)
    other.terminate()
    assert until(lambda: answer(session), within=15, what="work goes on") == "42"


def answer(session):
    try:
        return session.value("select 42")
    except ServerError:
        return None
