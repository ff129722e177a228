"""What pools and drivers send by themselves is never refused for a full budget, and is answered as
PostgreSQL answers it; what is real work finds no way around the budget by it."""

import pytest

from support.lanes import WORKLOADS, Holder, check_refusal
from support.messages import B, D, E, H, P, Q, S, batch, query_batch, shape
from support.oracle import Case, Z, play, upto
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

NPGSQL_RESET = (
    "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;"
    "SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP"
)
ASYNCPG_RESET = "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;"
DEADPOOL_CLEAN = (
    "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; "
    "SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES;"
)
RESETS = [
    "DISCARD ALL",
    "discard all;",
    "RESET ALL",
    "CLOSE ALL",
    "UNLISTEN *",
    "SELECT pg_advisory_unlock_all()",
    "DEALLOCATE ALL",
    "DISCARD TEMP",
    "DISCARD PLANS",
    "SET SESSION AUTHORIZATION DEFAULT",
    "RESET SESSION AUTHORIZATION",
    "RESET ROLE",
]
SEQUENCES = [NPGSQL_RESET, ASYNCPG_RESET, DEADPOOL_CLEAN]
SINGLE = [
    "SELECT 1",
    "select 1;",
    "select pg_catalog.version()",
    "SELECT version()",
    "select current_schema()",
    "show transaction isolation level",
    "show standard_conforming_strings",
    "SHOW server_version",
    "SET extra_float_digits = 3",
    "SET application_name = 'pooled'",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "RESET search_path",
    "reset no_such_setting",
    "SET search_path = public",
    "commit prepared 'nobody'",
    "rollback prepared 'nobody'",
    "COMMIT",
    "ROLLBACK",
    "deallocate nobody",
    "",
    ";",
    "-- ping",
]
SETS = "SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation"
# What a reset has to tell of.
SETTINGS = "set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set work_mem = '5MB'"
ROLE = "set role bob"
AUTHORIZATION = "set session authorization bob"



def each(name, steps, texts):
    """One test for many short scripts: steps(text) for each text, in a session of its own."""
    return pytest.param([(steps(text), text) for text in texts], id=name)


def settled(*before):
    return lambda text: (*before, Q(text), Z, Q("show timezone"), Z, Q("show is_superuser"), Z)


SCRIPTS = [
    each("simple", lambda text: (Q(text), Z), [*SINGLE, *RESETS, *SEQUENCES, SETS]),
    each("extended", lambda text: (query_batch(text), Z), [*SINGLE, *RESETS]),
    each(
        "described before it is bound",
        lambda text: (P(text) + D("S") + H, upto("T"), B() + E() + S, Z),
        ["SELECT 1", "select pg_catalog.version()", "show timezone"],
    ),
    each("settings", settled(Q(SETTINGS), Z), ["DISCARD ALL", "RESET ALL", *SEQUENCES]),
    each("a role", settled(Q(ROLE), Z), ["DISCARD ALL", "RESET ALL", "RESET ROLE", NPGSQL_RESET]),
    each("a user", settled(Q(AUTHORIZATION), Z), ["DISCARD ALL", "RESET ALL", NPGSQL_RESET]),
    each(
        "a batch behind settings",
        lambda text: (Q(SETTINGS), Z, query_batch(text), Z),
        ["discard all", "reset all"],
    ),
    each(
        "in a block",
        lambda text: (Q("begin") + Q(text) + query_batch(text), upto("Z", 3), Q("rollback"), Z),
        ["select pg_catalog.version()", "show standard_conforming_strings"],
    ),
    each(
        "in a block with modes",
        lambda text: (
            Q("begin isolation level read committed read only") + Q(text),
            *(upto("Z", 2), Q("rollback"), Z),
        ),
        ["select 1", "show transaction isolation level", "select current_schema()"],
    ),
    each(
        "in a block that would take its snapshot",
        lambda text: (Q("begin isolation level serializable") + Q(text), upto("Z", 2), Q("end"), Z),
        ["show transaction isolation level"],
    ),
    each(
        "in a block, described before it is bound",
        lambda text: (
            *(Q("begin"), Z, P(text, "s") + D("S", "s") + H, upto("T")),
            *(B(statement="s") + E() + S, Z, Q("commit"), Z),
        ),
        ["select current_schema()"],
    ),
    each(
        "an error in a block",
        lambda text: (Q("begin") + batch(text, ["1"]) + S, upto("Z", 2), Q("rollback"), Z),
        ["select version()"],
    ),
    each(
        "an error ahead of a Flush",
        lambda text: (P(text) + D("S") + H, upto("E"), B() + S, Z),
        ["show nothing_at_all"],
    ),
    each(
        "by name",
        lambda text: (
            *(P(text, "ping") + S, Z, B(statement="ping") + E() + S, Z),
            D("S", "ping") + B(statement="ping") + E() + S + Q("DISCARD ALL"),
            upto("Z", 2),
        ),
        ["SELECT 1"],
    ),
    each(
        "a pipeline",
        lambda text: (Q("DISCARD ALL") + Q(text) + batch("show timezone") + S, upto("Z", 3)),
        ["select 1"],
    ),
]


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture
def full(proxy, connect):
    """The only permit of `tight` is held."""
    return Holder(connect, proxy, "tight")


@pytest.mark.parametrize("scripts", SCRIPTS)
def test_it_is_answered_as_by_postgresql_when_the_budget_is_full(scripts, full, proxy, postgres):
    for steps, text in scripts:
        made = Case(text, steps, {"application_name": "tight"}, False, None, None, "", "any")
        assert play(proxy.address, made) == play(postgres.address, made), text


REFUSED = {
    "a statement that is not known": [Q("select 1 + 0")],
    "work behind it in the same text": [Q("select 1; insert into t values (1)")],
    "work ahead of it": [Q("insert into t values (1); select 1")],
    "work behind a SET": [Q("set work_mem = '5MB'; insert into t values (1)")],
    "a SET of what was computed": [Q("select set_config('work_mem', '5MB', false)")],
    "a comment in it": [Q("select 1 /* a */")],
    "other columns": [Q("select 1, 2")],
    "a batch with work behind it": [batch("select 1"), batch("insert into t values (1)"), S],
    "a batch with work ahead of it": [batch("insert into t values (1)"), batch("select 1"), S],
    "its Parse, and a Bind of work": [P("select 1"), P("delete from t", "w"), B(statement="w"), S],
    "a Flush behind its Execute": [batch("select 1"), H, S],
}


def test_real_work_finds_no_way_around_the_budget(full, proxy, connect):
    session = connect(proxy, application_name="tight")
    for what, chunks in REFUSED.items():
        got = session.ask(*chunks)
        assert shape(got) == "EZI", what
        check_refusal(got[0], "tight", "queue_full")


def test_work_behind_it_is_judged_by_itself(full, proxy, connect):
    session = connect(proxy, application_name="tight")
    got = session.ask(Q("select 1"), Q("insert into t values (1)"), Q("discard all"), ready=3)
    assert shape(got) == "TDCZIEZICZI"
    session.send(P("select 1"), D("S"), H)
    assert shape(session.until("T")) == "1tT"
    assert shape(session.ask(batch("insert into t values (1)"), S)) == "EZI"


def test_in_a_block_it_is_work(full, proxy, connect):
    session = connect(proxy, application_name="tight")
    session.query("begin")
    assert shape(session.ask(Q("select 1"))) == "EZE"
    session.query("rollback")
    session.query("begin isolation level repeatable read")
    assert shape(session.ask(Q("select 1"))) == "EZE"


def test_the_end_of_a_prepared_transaction_is_not_refused(full, proxy, postgres, connect):
    postgres.empty_tables()
    first = connect(proxy)
    for end, count in (("commit", 1), ("rollback", 1)):
        first.query("begin; insert into t values (7); prepare transaction 'half'")
        connect(proxy, application_name="tight").query(f"{end} prepared 'half'")
        assert postgres.count("select count(*) from t where a = 7") == count
    postgres.sql("delete from t")


def test_a_batch_that_comes_in_pieces_is_waited_for(full, proxy, connect):
    session = connect(proxy, application_name="tight")
    whole = query_batch("select pg_catalog.version()")
    session.send(whole[:-5])
    assert session.quiet(0.05) is None
    session.send(whole[-5:])
    assert shape(session.until("Z")) == "12TDCZI"


def test_a_kept_backend_is_cleaned_itself(full, proxy, postgres, connect):
    session = connect(proxy, application_name="tight")
    session.query("set application_name = 'patient'")
    session.query("create temp table left_behind (a int)")
    session.query("set application_name = 'tight'")
    session.query("DISCARD ALL")
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")
    assert shape(session.ask(Q("select * from left_behind"))) == "EZI"


# A text of the lane that takes its time: a session may have functions of its own before those of
# PostgreSQL.
SLOW = {"options": "-c search_path=slow,pg_catalog"}
SLOW_TEXT = "select version()"


@pytest.fixture
def slow(postgres):
    """slow(seconds): how long it takes from now on."""

    def make(seconds):
        postgres.sql(
            "create schema if not exists slow; grant usage on schema slow to public; "
            "create or replace function slow.version() returns "
            f"text language sql as $$select pg_catalog.pg_sleep({seconds})::text$$"
        )

    yield make
    postgres.sql("drop schema slow cascade")


def lane(**keys):
    return {"workloads": WORKLOADS, "housekeeping": keys}


def test_no_more_than_its_permits_run_at_once(slow, new_proxy, postgres, connect):
    slow(0.01)
    proxy = new_proxy(postgres, lane())
    sessions = [connect(proxy, **SLOW) for _ in range(40)]
    for session in sessions:
        session.send(Q(SLOW_TEXT))
    for session in sessions:
        assert postgres.running(SLOW_TEXT) <= 1
        assert shape(session.until("Z")) == "TDCZI"
    metrics = proxy.metrics()
    assert metrics.gauge("peak_running", "housekeeping") == 1
    assert metrics.admitted("housekeeping") == 40


def test_a_wait_in_vain_is_told_as_one_for_a_backend(slow, new_proxy, postgres, connect):
    slow(30)
    proxy = new_proxy(postgres, lane(wait="50ms", statement_timeout="20s"))
    first, second = connect(proxy, **SLOW), connect(proxy)
    first.send(Q(SLOW_TEXT))
    until(lambda: proxy.running("housekeeping") == 1, what="the lane is taken")
    got = second.ask(Q("select 1"))
    check_refusal(got[0], "housekeeping", "pool_timeout")
    assert proxy.metrics().rejected("housekeeping", "pool_timeout") == 1
    assert second.value("select 1 + 0") == "1"
    first.cancel()
    assert shape(first.until("Z")) == "TEZI"


def test_what_takes_too_long_is_cancelled_and_the_session_goes_on(
    slow, new_proxy, postgres, connect
):
    slow(30)
    proxy = new_proxy(postgres, lane(statement_timeout="50ms"))
    session = connect(proxy, **SLOW)
    got = session.ask(Q(SLOW_TEXT))
    assert shape(got) == "TEZI" and got[1].fields()["C"] == "57014"
    assert session.value("select 1") == "1"
    until(lambda: not proxy.metrics().held(), what="nothing is held")


def pool(size):
    return {"databases": {"*": {"pool_size": size, "pool_wait": "20s"}}}


def test_one_backend_is_set_aside(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, pool(2))
    holder, waiter = Holder(connect, proxy), connect(proxy)
    waiter.send(Q("select 1 + 0"))
    until(lambda: proxy.running() == 2, what="it waits for a backend")
    assert connect(proxy).value("select 1") == "1"
    assert waiter.quiet(0.01) is None
    holder.release()
    assert shape(waiter.until("Z")) == "TDCZI"


def test_the_last_backend_is_shared(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, pool(1))
    holder, waiter = Holder(connect, proxy), connect(proxy)
    waiter.send(Q("select 1"))
    until(lambda: proxy.running("housekeeping") == 1, what="it waits for the backend")
    holder.release()
    assert shape(waiter.until("Z")) == "TDCZI"


def test_a_set_takes_a_permit_of_its_workload_while_one_is_free(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})
    session = connect(proxy, application_name="tight")
    session.query("set work_mem = '5MB'")
    assert proxy.metrics().admitted("tight") == 1
    Holder(connect, proxy, "tight")
    session.query("set work_mem = '6MB'")
    assert proxy.metrics().admitted("housekeeping") == 1
