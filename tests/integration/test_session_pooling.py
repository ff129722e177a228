"""`pooling: session`: a client has one backend from its login to its end, and sees what it would see
on a direct connection; only its transactions pass the gate."""

import contextlib

import pytest

from support.lanes import check_refusal
from support.messages import B, C, D, E, H, P, Q, S, X, batch, codes, query_batch, shape, startup
from support.postgres import DATABASE
from support.waiting import until, until_none
from support.wire import LEAVING, Closed, ServerError

pytestmark = pytest.mark.needs_proxy

# One permit and no queue, and permits for everyone.
WORKLOADS = [
    {
        "name": "narrow",
        "match": {"application_name": "narrow"},
        "concurrency": 1,
        "pooling": "session",
        "cancel_after_leave": "100ms",
    },
    {"name": "moving", "match": {"application_name": "moving"}, "concurrency": 8},
    {
        "name": "default",
        "concurrency": 16,
        "queue": 100,
        "queue_wait": "10s",
        "pooling": "session",
        "cancel_after_leave": "100ms",
    },
]


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(
        postgres, {"databases": {"*": {"pool_wait": "10s"}}, "workloads": WORKLOADS}
    )


def backend_pid(session):
    return int(session.value("select pg_backend_pid()"))


# ---- one backend for life


def test_the_key_a_client_gets_names_the_servers_own_process(proxy, connect):
    session = connect(proxy)
    assert session.pid == backend_pid(session)
    assert session.value("select count(*) from pg_stat_activity where pid = %d" % session.pid) == "1"


def test_a_session_keeps_its_backend_from_transaction_to_transaction(proxy, connect):
    one, other = connect(proxy), connect(proxy)
    pids = {(backend_pid(one), backend_pid(other)) for _ in range(20)}
    assert len(pids) == 1


def test_an_idle_session_holds_a_backend_and_no_permit(proxy, connect):
    session = connect(proxy)
    session.query("select 1 + 0")
    until(lambda: proxy.running() == 0, what="the permit is back")
    assert proxy.metrics().gauge("pinned") == 0


def test_everything_a_session_can_leave_behind_is_there_in_its_next_transaction(
    postgres, proxy, connect
):
    session = connect(proxy)
    session.query("create temp table mine (a int); grant all on mine to clerk")
    session.query("set search_path to pg_temp, public")
    session.query("set role clerk")
    session.query("prepare p as select 42")
    session.query("select pg_advisory_lock(4711)")
    session.query("listen here")
    session.query("begin; declare c cursor with hold for select generate_series(1, 3); commit")
    session.ask(P("select 'named'", "s1") + S)
    session.ask(P("select 'unnamed'") + S)
    assert session.ask(B() + E() + S)[1].row() == ("unnamed",)
    assert session.query("insert into mine values (1)") == []
    assert session.value("show search_path") == "pg_temp, public"
    assert session.value("select current_user") == "clerk"
    assert session.value("execute p") == "42"
    assert session.query("fetch 2 from c") == [("1",), ("2",)]
    assert session.ask(B(statement="s1") + E() + S)[1].row() == ("named",)
    assert session.value("select pg_listening_channels()") == "here"
    assert session.value("select pg_advisory_unlock(4711)") == "t"


def test_a_function_that_sets_what_no_text_shows_is_no_exception(proxy, connect):
    session = connect(proxy)
    session.query("do $$ begin perform set_config('x.y', 'kept', false); end $$")
    assert session.value("show x.y") == "kept"


def test_discard_all_leaves_the_session_its_backend(proxy, connect):
    session = connect(proxy)
    session.query("create temp table mine (a int)")
    session.query("discard all")
    assert session.value("select to_regclass('pg_temp.mine')") is None
    assert backend_pid(session) == session.pid


# ---- what comes unasked


def test_a_notification_reaches_an_idle_listener_at_once(postgres, proxy, connect):
    listener = connect(proxy)
    listener.query("listen here")
    postgres.sql("notify here, 'now'")
    msg = listener.read()
    assert msg.kind == "A" and b"here\0now\0" in msg.body


# ---- the gate


def test_a_refused_begin_is_a_failed_block_that_lets_nothing_through(postgres, proxy, connect):
    postgres.empty_tables()
    holder, other = (connect(proxy, application_name="narrow") for _ in range(2))
    holder.query("begin")
    got = other.ask(Q("begin") + Q("insert into t values (1)") + Q("commit"), ready=3)
    check_refusal(got[0], "narrow", "queue_full")
    assert shape(got) == "EZEEZECZI", got
    assert codes(got)[2] == "25P02"
    holder.query("commit")
    assert other.value("select 7") == "7"
    assert postgres.sql("select * from t") == []


@pytest.mark.parametrize("name", ["", "named"])
def test_a_refused_begin_of_the_extended_protocol_is_one_too(postgres, proxy, connect, name):
    postgres.empty_tables()
    holder, other = (connect(proxy, application_name="narrow") for _ in range(2))
    other.ask(P("begin", name) + S)
    holder.query("begin")
    got = other.ask(B(statement=name) + E() + S + batch("insert into t values (1)") + S, ready=2)
    check_refusal(got[0], "narrow", "queue_full")
    assert shape(got) == "EZEEZE" and codes(got)[2] == "25P02", got
    got = other.ask(P("rollback") + B() + E() + S)
    assert shape(got) == "12CZI", got
    holder.query("commit")
    # The unnamed statement is the last one that was parsed, wherever it was answered.
    assert shape(other.ask(B() + E() + S)) == "2NCZI"
    assert postgres.sql("select * from t") == []


def test_a_statement_closed_in_a_failed_block_is_closed_on_the_backend(proxy, connect):
    holder, other = (connect(proxy, application_name="narrow") for _ in range(2))
    other.ask(P("select 1 + 0", "s1") + S)
    holder.query("begin")
    assert shape(other.ask(Q("begin"))) == "EZE"
    assert shape(other.ask(C("S", "s1") + P("rollback") + B() + E() + S)) == "312CZI"
    holder.query("commit")
    assert other.value("select count(*) from pg_prepared_statements where name = 's1'") == "0"


def test_a_ping_is_answered_for_a_full_budget(proxy, connect):
    holder, other = (connect(proxy, application_name="narrow") for _ in range(2))
    holder.query("begin")
    assert shape(other.ask(Q(";") + S + Q("/* ping */"), ready=3)) == "IZIZIIZI"
    got = other.ask(Q("select 1 + 0"))
    check_refusal(got[0], "narrow", "queue_full")
    holder.query("commit")


def test_a_ping_is_not_answered_for_a_backend_that_is_gone(postgres, proxy, connect):
    control = connect(postgres)
    for _ in range(20):
        session = connect(proxy, application_name="narrow")
        # The process has its signal; nobody waits until the proxy has heard of its end.
        assert control.value(f"select pg_terminate_backend({session.pid})") == "t"
        with pytest.raises((ServerError, Closed)):
            session.query(";")
        session.close()


def test_begin_takes_the_permit_at_once(proxy, connect):
    session = connect(proxy)
    session.query("begin")
    assert proxy.running() == 1
    session.query("rollback")


def test_a_pipeline_of_transactions_runs_on_one_permit(proxy, connect):
    session = connect(proxy, application_name="narrow")
    data = (Q("begin") + query_batch("select 1 + 0") + Q("commit")) * 50
    assert shape(session.ask(data, ready=150)) == "CZT12TDCZTCZI" * 50


def test_a_login_that_finds_no_backend_is_told_so(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 2, "pool_wait": "200ms"}},
            "workloads": [{"name": "default", "concurrency": 4, "pooling": "session"}],
        },
    )
    one, two = connect(proxy), connect(proxy)
    with pytest.raises(ServerError) as refused:
        connect(proxy)
    assert refused.value.fields["S"] == "FATAL" and refused.value.fields["C"] == "53300"
    assert backend_pid(one) != backend_pid(two)
    one.terminate()
    assert connect(proxy).value("select 7") == "7"
    proxy.assert_clean()


def test_what_a_login_waits_for_goes_on_without_it(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 1, "pool_wait": "5s"}},
            "workloads": [{"name": "default", "concurrency": 4, "pooling": "session"}],
        },
    )
    first = connect(proxy)
    for way in ("FIN", "RST"):
        waiter = connect(proxy, login=False)
        waiter.send(startup({"user": "alice", "database": DATABASE}))
        LEAVING[way](waiter)
    first.terminate()
    assert connect(proxy).value("select 7") == "7"


# ---- the end


@pytest.mark.parametrize("way", LEAVING)
def test_what_a_session_leaves_is_cleaned_before_the_next_has_its_backend(proxy, connect, way):
    session = connect(proxy)
    session.query("create temp table mine (a int)")
    session.query("set work_mem to '1234kB'")
    session.query("select pg_advisory_lock(4711)")
    session.query("listen here")
    session.ask(P("select 1 + 0", "s1") + S)
    session.send(Q("begin") + Q("select 1 from t for update") + Q("select pg_sleep(30)"))
    session.until("Z", 2)
    LEAVING[way](session)
    until_none(lambda: proxy.metrics().held(), 5, "the backend is clean or gone")
    for _ in range(3):
        following = connect(proxy)
        assert following.value("select to_regclass('pg_temp.mine')") is None
        assert following.value("show work_mem") == "4MB"
        assert following.query("select pg_listening_channels()") == []
        assert following.query("select name from pg_prepared_statements") == []
        assert following.query("select 1 from pg_locks where locktype = 'advisory'") == []
        following.terminate()


def test_sessions_with_and_without_a_backend_of_their_own_share_none(postgres, proxy, connect):
    moving = connect(proxy, application_name="moving")
    moving.query("begin; select 1; commit")
    moving.ask(Q("begin") + Q("select 1 + 0") + Q("commit"), ready=3)
    session = connect(proxy)
    assert session.query("select name from pg_prepared_statements") == []


def test_a_terminated_backend_says_so_and_ends_the_session(postgres, proxy, connect):
    for state in ("", "begin", "begin; select 1 + 0"):
        session = connect(proxy)
        if state:
            session.query(state)
        postgres.sql(f"select pg_terminate_backend({session.pid})")
        (msg,) = session.drain()
        assert (msg.fields()["S"], msg.fields()["C"]) == ("FATAL", "57P01")
        # PostgreSQL's own words, as on a direct connection.
        assert msg.fields()["F"] == "postgres.c"


def test_a_backend_terminated_in_a_statement_has_the_last_word(postgres, proxy, connect):
    session = connect(proxy)
    session.send(Q("select pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    postgres.sql(f"select pg_terminate_backend({session.pid})")
    msg = session.drain()[-1]
    assert (msg.fields()["S"], msg.fields()["C"]) == ("FATAL", "57P01")


def test_a_cancel_reaches_the_statement_of_its_session(postgres, proxy, connect):
    session = connect(proxy)
    session.send(Q("select pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    session.cancel()
    assert codes(session.until("Z"))[-2] == "57014"
    session.cancel()
    assert session.value("select 7") == "7"


def test_the_servers_own_way_to_cancel_works_with_the_id_a_client_was_given(
    postgres, proxy, connect
):
    session = connect(proxy)
    session.send(Q("select pg_sleep(30)"))
    until(lambda: postgres.running("pg_sleep"), what="the statement runs")
    assert postgres.value(f"select pg_cancel_backend({session.pid})") in ("t", True)
    assert codes(session.until("Z"))[-2] == "57014"


def test_a_whole_transaction_and_terminate_in_one_write_are_done(postgres, proxy, connect):
    postgres.empty_tables()
    session = connect(proxy)
    session.send(Q("begin") + Q("insert into t values (1)") + Q("commit") + X)
    session.close()
    until(lambda: len(postgres.sql("select * from t")) == 1, what="the row is there")


def test_half_a_flushed_batch_stores_nothing(postgres, proxy, connect):
    postgres.empty_tables()
    session = connect(proxy)
    session.send(batch("insert into t values (1)") + D("P") + H)
    session.until("n")
    with contextlib.suppress(Closed):
        session.close()
    until_none(lambda: proxy.metrics().held(), 5, "the backend is clean or gone")
    assert postgres.sql("select * from t") == []
