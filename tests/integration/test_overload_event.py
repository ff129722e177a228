"""When an overload begins, one event names the bottleneck."""

import re

import pytest

from support.holders import events, holders, make_watcher, sampler
from support.lanes import Holder, check_refusal
from support.messages import Q
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

SECRET = "hunter2"


def test_an_overload_is_told_once_with_whom_it_waits_for(postgres, new_proxy, connect):
    make_watcher(postgres)
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"lock_sampler": sampler(postgres)}},
            "workloads": [
                {"name": "tight", "match": {"application_name": "tight"}, "concurrency": 2},
                {"name": "other", "match": {"application_name": "other"}, "concurrency": 1},
                {"name": "default", "concurrency": 8},
            ],
        },
    )
    postgres.empty_tables()
    postgres.sql("insert into t values (1, 'row')")
    blocker = Holder(connect, proxy, "blocker's own")
    pid = blocker.session.value("select pg_backend_pid()")
    blocker.session.query("update t set b = 'x' where a = 1")
    waiting = [connect(proxy, application_name="tight") for _ in range(2)]
    for session in waiting:
        session.send(Q(f"update t set b = '{SECRET}' where a = 1"))
    until(lambda: len(holders(proxy, state="waiting_for_lock")) == 2, what="both wait")

    refused = connect(proxy, application_name="tight")
    for _ in range(5):
        refused.send(Q("select 1 + 0"))
        check_refusal(refused.until("Z")[0], "tight", "queue_full")
    told = until(lambda: events(proxy, "overload"), what="it is told")[0]
    assert len(events(proxy, "overload")) == 1
    assert " workload=tight reason=queue_full running=2 limit=2 waiting=0 queue=0 " in told
    assert 'time="waiting_for_lock=100%"' in told
    assert "update t set b = ? where a = ?" in told and SECRET not in told
    # The second may wait for the first, which is next.
    assert re.search(rf'wait_for="([^"]*; )?pid={pid} idle in transaction', told)
    assert "application='blocker''s own'" in told

    # Another workload has an episode of its own.
    Holder(connect, proxy, "other")
    also = connect(proxy, application_name="other")
    also.send(Q("select 1 + 0"))
    check_refusal(also.until("Z")[0], "other", "queue_full")
    until(lambda: len(events(proxy, "overload")) == 2, what="that is told, too")
    assert " workload=other " in events(proxy, "overload")[1]
    assert "idle_in_transaction=100%" in events(proxy, "overload")[1]

    blocker.release()
    for session in waiting:
        session.until("Z")
    assert SECRET not in proxy.log()
    postgres.empty_tables()


def test_statement_times_are_counted_once_for_each_sync_point(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    session.query("begin")
    session.query("select 1 + 0")
    session.query("select 2")
    session.query("commit")
    session.value("select 3")
    metrics = proxy.metrics()
    # BEGIN was answered here; COMMIT was not.
    for what, count in {"statement": 4, "transaction": 2, "permit_hold": 2}.items():
        assert metrics.gauge(f"{what}_seconds_count") == count, what
