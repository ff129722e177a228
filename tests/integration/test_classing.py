"""The workload of a transaction follows what its session says of itself."""

import pytest

from support.messages import Q, codes
from support.waiting import until

CONFIG = {
    "workloads": [
        {
            "name": "reports",
            "match": {"application_name": "report*"},
            "concurrency": 1,
            "queue": 0,
            "queue_wait": "0s",
        },
        {
            "name": "kept",
            "match": {"application_name": "kept"},
            "pooling": "session",
            "concurrency": 1,
        },
        {"name": "default", "concurrency": 4},
    ]
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, CONFIG)


def counts(proxy):
    return proxy.running("reports"), proxy.running("default")


@pytest.mark.needs_proxy
def test_a_set_of_application_name_chooses_the_workload_of_the_next_transaction(proxy, connect):
    holder, session = connect(proxy, application_name="reporter"), connect(proxy)
    holder.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    session.query("select 1 + 0")
    session.query("set application_name = 'report 1'")
    assert codes(session.ask(Q("select 1 + 0"))) == ["40001", "Z"]
    assert codes(session.ask(Q("begin"), Q("select 1 + 0"), ready=2)) == ["C", "Z", "40001", "Z"]
    session.query("rollback")
    holder.query("commit")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (1, 0)
    # What was begun stays where it is.
    session.query("set local application_name = 'other'")
    assert counts(proxy) == (1, 0)
    session.query("rollback")
    session.query("reset application_name")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (0, 1)
    session.query("rollback")


@pytest.mark.needs_proxy
def test_the_name_at_startup_counts_again_when_it_is_reset(proxy, connect):
    session = connect(proxy, application_name="report 2")
    session.query("set application_name = 'anything'")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (0, 1)
    session.query("rollback")
    session.query("reset application_name")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (1, 0)
    session.query("rollback")


@pytest.mark.needs_proxy
def test_a_pinned_session_stays_in_its_workload_until_its_pin_is_gone(proxy, connect):
    session = connect(proxy)
    session.query("listen news")
    session.query("set application_name = 'report 3'")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (0, 1)
    session.query("commit")
    session.query("unlisten *")
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert counts(proxy) == (1, 0)
    session.query("commit")


@pytest.mark.needs_proxy
def test_how_a_session_is_pooled_was_decided_by_its_login(proxy, connect):
    session = connect(proxy)
    session.query("set application_name = 'kept'")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert (proxy.running("kept"), proxy.running("default")) == (0, 1)
    session.query("commit")


@pytest.mark.needs_proxy
def test_a_client_is_matched_by_the_network_it_comes_from(module_proxy, postgres, connect):
    proxy = module_proxy(
        postgres,
        {
            "workloads": [
                {"name": "far", "match": {"client": "10.0.0.0/8"}, "concurrency": 1},
                {"name": "near", "match": {"client": "127.0.0.0/8"}, "concurrency": 1},
                {"name": "default", "concurrency": 1},
            ]
        },
    )
    by_tcp, by_path = connect(proxy), connect(proxy, address=proxy.unix_address)
    for session in (by_tcp, by_path):
        session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    held = [proxy.running(name) for name in ("far", "near", "default")]
    assert held == [0, 1, 1]
    for session in (by_tcp, by_path):
        session.query("rollback")
