"""Who holds the permits: one command tells each holder with its state, its statement without literals
and whom it waits for."""

import urllib.error
import urllib.request

import pytest

from support.holders import holders, listed, make_watcher, sampler
from support.lanes import Holder
from support.messages import B, E, H, P, Q, S
from support.waiting import free_port, until

pytestmark = pytest.mark.needs_proxy

SECRET = "hunter2"


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    make_watcher(postgres)
    return module_proxy(
        postgres,
        {
            "databases": {"*": {"lock_sampler": sampler(postgres), "pool_size": 4}},
            "workloads": [
                {
                    "name": "reports",
                    "match": {"application_name": "reports*"},
                    "concurrency": 8,
                    "max_pinned": 3,
                },
                {"name": "default", "concurrency": 8},
            ],
        },
    )


def only(proxy, **wanted):
    """The one holder with these values, as soon as there is one."""
    found = until(lambda: holders(proxy, **wanted), what=f"a holder with {wanted}")
    assert len(found) == 1, found
    return found[0]


def cancel(postgres, session):
    """PostgreSQL ignores a cancel that comes before the statement."""
    until(lambda: postgres.running("pg_sleep"), what="it runs")
    session.cancel()


def test_a_running_statement_is_told_with_its_client(proxy, connect, postgres):
    session = connect(proxy, application_name="reports 7")
    pid = int(session.value("select pg_backend_pid()"))
    session.send(Q(f"select pg_sleep(60), '{SECRET}', 4711"))
    holder = only(proxy, state="running")
    assert holder["statement"] == "select pg_sleep(?), ?, ?"
    assert (holder["workload"], holder["application_name"]) == ("reports", "reports 7")
    assert (holder["user"], holder["database"]) == ("alice", "bulkhead")
    assert holder["pid"] == pid and holder["client"].startswith("127.0.0.1:")
    assert 0 <= holder["state_seconds"] <= holder["age_seconds"] < 60
    cancel(postgres, session)
    session.until("Z")
    assert listed(proxy)["holders"] == []


def test_a_client_that_is_silent_in_its_transaction(proxy, connect):
    holding = Holder(connect, proxy)
    holding.session.query(f"insert into t values (1, '{SECRET}')")
    holder = only(proxy, state="idle_in_transaction")
    assert holder["statement"] == "insert into t values (?, ?)"
    assert listed(proxy)["states"]["idle_in_transaction"] == 1
    until(lambda: proxy.metrics().gauge("idle_in_transaction", "default") == 1, what="it is seen")
    until(
        lambda: proxy.metrics().gauge("idle_in_transaction_seconds_total", "default") > 0,
        what="its time is counted",
    )
    holding.release()


def test_who_waits_for_a_lock_is_told_with_whom_it_waits_for(proxy, connect, postgres):
    postgres.sql("insert into t values (1, 'row')")
    first = Holder(connect, proxy, "blocker")
    blocker = int(first.session.value("select pg_backend_pid()"))
    first.session.query("update t set b = 'x' where a = 1")
    second = connect(proxy, application_name="reports")
    second.send(Q(f"update t set b = '{SECRET}' where a = 1"))
    holder = only(proxy, state="waiting_for_lock")
    assert holder["statement"] == "update t set b = ? where a = ?"
    (waits_for,) = holder["waits_for"]
    assert waits_for["pid"] == blocker
    assert waits_for["application_name"] == "blocker"
    assert waits_for["state"] == "idle in transaction"
    until(lambda: proxy.metrics().gauge("lock_waiting", "reports") == 1, what="it is counted")
    until(
        lambda: proxy.metrics().gauge("lock_wait_seconds_total", "reports") > 0,
        what="its time is counted",
    )
    first.release()
    second.until("Z")
    until(lambda: proxy.metrics().gauge("lock_waiting", "reports") == 0, what="it is over")
    postgres.empty_tables()


def test_a_lock_holder_outside_the_proxy_is_named_too(proxy, connect, postgres):
    postgres.sql("insert into t values (1, 'row')")
    outsider = connect(postgres, application_name="psql at night")
    outsider.query("begin")
    outsider.query("select * from t for update")
    session = connect(proxy)
    session.send(Q("delete from t"))
    holder = only(proxy, state="waiting_for_lock")
    assert [one["application_name"] for one in holder["waits_for"]] == ["psql at night"]
    outsider.query("rollback")
    session.until("Z")


def test_an_advisory_lock_and_a_wait_for_a_backend(proxy, connect, postgres):
    locked = [connect(proxy, application_name="reports") for _ in range(3)]
    for number, session in enumerate(locked):
        session.query(f"select pg_advisory_lock({number})")
    until(lambda: len(holders(proxy, state="locked")) == 3, what="three are locked")
    busy = connect(proxy)
    busy.send(Q("select pg_sleep(60)"))
    only(proxy, state="running")
    waiter = connect(proxy)
    waiter.send(Q("select 7"))
    holder = only(proxy, state="waiting_for_backend")
    assert (holder["pid"], holder["statement"]) == (None, None)
    cancel(postgres, busy)
    busy.until("Z")
    waiter.until("Z")
    for number, session in enumerate(locked):
        session.query(f"select pg_advisory_unlock({number})")
    until(lambda: not holders(proxy, state="locked"), what="nobody is locked")


def test_the_work_of_a_client_that_has_gone_is_told(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {"workloads": [{"name": "default", "concurrency": 2, "cancel_after_leave": "10m"}]},
    )
    rival = connect(postgres)
    rival.query("select pg_advisory_lock(99)")
    session = connect(proxy)
    session.send(Q("select pg_advisory_xact_lock(99)"))
    only(proxy, state="running")
    session.half_close()
    assert only(proxy, state="rolling_back")["statement"] == "select pg_advisory_xact_lock(?)"
    rival.query("select pg_advisory_unlock(99)")
    until(lambda: not listed(proxy)["holders"], what="it has ended")


@pytest.mark.parametrize("name", ["", "named"])
def test_a_prepared_statement_is_told_by_its_text(proxy, connect, postgres, name):
    session = connect(proxy)
    text = f"select pg_sleep(60), $1::text, '{SECRET}'"
    session.ask(P(text, name) + S)
    session.send(B([SECRET], name) + E() + H)
    holder = only(proxy, state="running")
    assert holder["statement"] == "select pg_sleep(?), $1::text, ?"
    assert SECRET not in proxy.get("/api/v1/holders")[1]
    cancel(postgres, session)
    session.until("E")
    session.send(S)
    session.until("Z")


def test_utility_statements_show_only_their_verb(proxy, connect):
    session = connect(proxy)
    session.query("begin")
    session.query(f"create temp table x as select '{SECRET}' as a")
    assert only(proxy, state="idle_in_transaction")["statement"] == "CREATE ..."
    session.query("rollback")


def test_probes_do_not_show_who_holds(postgres, new_proxy):
    probes = free_port()
    proxy = new_proxy(postgres, {"admin": {"probes": f"127.0.0.1:{probes}"}})
    assert proxy.get("/api/v1/holders")[0] == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{probes}/api/v1/holders", timeout=5)
    assert refused.value.code == 404


def test_literals_are_in_no_log_and_no_metric(proxy):
    assert SECRET not in proxy.log()
    assert SECRET not in proxy.metrics().text
