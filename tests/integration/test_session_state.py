"""State that outlives a transaction stays with its session; no other session ever sees it."""

import pytest

from support.lanes import hints
from support.messages import B, D, E, P, Q, S
from support.waiting import until

needs_proxy = pytest.mark.needs_proxy

# Three backends beside the one set aside, so that a session with state leaves two for the others.
THREE = {"databases": {"*": {"pool_size": 4, "pool_wait": "10s"}}}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, THREE)


# How state is made, and a query that shows it to the session itself.
STATES = {
    "set": (["set search_path = pg_catalog"], "show search_path"),
    "set with a comment in front": (["/* c */ set work_mem = '2MB'"], "show work_mem"),
    "set_config": (["select set_config('x.y', '1', false)"], "select current_setting('x.y', true)"),
    "set in a do block": (["do $$ begin set work_mem = '3MB'; end $$"], "show work_mem"),
    "set in a transaction": (["begin", "set work_mem = '4MB'", "commit"], "show work_mem"),
    "set in one text with others": (["select 1; set work_mem = '5MB'; select 2"], "show work_mem"),
    "role": (["set role clerk"], "select current_user"),
    "session authorization": (["set session authorization alice"], "select session_user"),
    "statement_timeout": (["set statement_timeout = '61s'"], "show statement_timeout"),
    "read only": (["set default_transaction_read_only = on"], "show default_transaction_read_only"),
    "listen": (["listen ch"], "select count(*) from pg_listening_channels()"),
    "temporary table": (["create temp table mine (a int)"], "select to_regclass('pg_temp.mine')"),
    "temporary table by select into": (
        ["select 1 as a into temp mine"],
        "select to_regclass('pg_temp.mine')",
    ),
    "cursor with hold": (
        ["begin", "declare c cursor with hold for select 1 + 0", "commit"],
        "select count(*) from pg_cursors where name = 'c'",
    ),
    "advisory lock": (
        ["select pg_advisory_lock(7)"],
        "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    ),
    "prepare": (
        ["prepare mine as select 1 + 0"],
        "select count(*) from pg_prepared_statements where name = 'mine'",
    ),
}

# What a fresh session sees of all the kinds above.
TRACES = """select
    current_user, session_user,
    (select string_agg(name || '=' || setting, ',' order by name)
        from pg_settings where source = 'session'),
    coalesce(current_setting('x.y', true), ''),
    (select count(*) from pg_listening_channels()),
    to_regclass('pg_temp.mine'),
    (select count(*) from pg_cursors where is_holdable),
    (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
    (select count(*) from pg_prepared_statements where from_sql)"""

# What PREPARE, DO or set_config leaves behind is found out by the proxy only when it reads the
# statement.
FRESH = ("alice", "alice", None, "", "0", None, "0", "0", "0")

every_state = pytest.mark.parametrize("state", STATES)


def make(session, state):
    for text in STATES[state][0]:
        session.query(text)


def others_see_nothing(proxy, connect):
    """Opens transactions side by side, so that each is on a backend of its own, and looks."""
    sessions = [connect(proxy) for _ in range(2)]
    for session in sessions:
        session.query("begin")
        assert session.query(TRACES) == [FRESH]
    for session in sessions:
        session.query("rollback")


# State that no text shows is lost at the end of its transaction, and never given to others.
HIDDEN = ["set in a do block"]


@pytest.mark.parametrize("state", [state for state in STATES if state not in HIDDEN])
def test_state_stays_with_its_session(postgres, proxy, connect, state):
    """The session sees what it would see in PostgreSQL, also after others have worked."""
    direct = connect(postgres)
    make(direct, state)
    expected = direct.query(STATES[state][1])
    direct.terminate()
    session = connect(proxy)
    make(session, state)
    assert session.query(STATES[state][1]) == expected
    others_see_nothing(proxy, connect)
    assert session.query(STATES[state][1]) == expected


@every_state
def test_no_other_session_sees_the_state_while_it_lives(proxy, connect, state):
    make(connect(proxy), state)
    others_see_nothing(proxy, connect)


@every_state
@pytest.mark.parametrize("how", ["terminate", "close", "reset_connection"])
def test_no_other_session_sees_the_state_after_its_session_has_gone(proxy, connect, state, how):
    session = connect(proxy)
    make(session, state)
    getattr(session, how)()
    proxy.assert_clean(within=3)
    sessions = [connect(proxy) for _ in range(3)]
    for other in sessions:
        other.query("begin")
        assert other.query(TRACES) == [FRESH]
    for other in sessions:
        other.query("rollback")


@every_state
def test_no_other_session_sees_the_state_of_a_block_that_was_left_open(proxy, connect, state):
    session = connect(proxy)
    if STATES[state][0][0] != "begin":
        session.query("begin")
    make(session, state) if "one text" not in state else session.query("set work_mem = '5MB'")
    session.reset_connection()
    proxy.assert_clean(within=3)
    others_see_nothing(proxy, connect)


def test_a_named_statement_stays_with_its_session(proxy, connect):
    session, other = connect(proxy), connect(proxy)
    session.ask(P("select 'mine'", "named"), S)
    other.ask(P("select 'other'", "named"), S)
    for who, expected in ((session, "mine"), (other, "other")) * 3:
        got = who.ask(B(statement="named"), D(), E(), S)
        assert [msg.row() for msg in got if msg.kind == "D"] == [(expected,)]


def test_the_unnamed_statement_is_its_sessions_own(proxy, connect):
    sessions = [connect(proxy) for _ in range(2)]
    for i, session in enumerate(sessions):
        session.ask(P(f"select 'unnamed {i}'"), S)
    for i, session in enumerate(sessions):
        got = session.ask(B(), E(), S)
        assert [msg.row() for msg in got if msg.kind == "D"] == [(f"unnamed {i}",)]


def test_startup_parameters_are_in_force_and_no_one_elses(proxy, connect):
    styles = {"German": "German, DMY", "SQL": "SQL, MDY", "ISO": "ISO, MDY"}
    sessions = {style: connect(proxy, DateStyle=style) for style in styles}
    for _ in range(10):
        for style, session in sessions.items():
            assert session.value("show datestyle") == styles[style]


def test_a_notification_reaches_who_listens_and_nobody_else(proxy, connect):
    listener, other = connect(proxy), connect(proxy)
    listener.query("listen news")
    other.query("notify news, 'hello'")
    assert [msg.kind for msg in other.ask(Q("select 1 + 0"))] == ["T", "D", "C", "Z"]
    assert b"hello" in listener.until("A")[-1].body


# ---- pins


@needs_proxy
def test_a_session_that_listens_is_pinned_and_holds_no_permit(proxy, connect):
    session = connect(proxy)
    session.query("listen x")
    until(lambda: proxy.metrics().gauge("pinned") == 1, what="one is pinned")
    until(lambda: proxy.running() == 0, what="no permit is held")
    session.terminate()
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")


@needs_proxy
def test_prepared_statements_pin_nobody(proxy, connect):
    session = connect(proxy)
    session.ask(P("select 1 + 0", "named"), S)
    for _ in range(5):
        session.ask(P("select $1::int"), D("S"), S)
        session.ask(B(["1"]), D(), E(), S)
        session.ask(B(statement="named"), D(), E(), S)
    assert proxy.metrics().gauge("pinned") == 0


@needs_proxy
def test_one_pin_too_many_is_refused_and_the_session_lives(postgres, new_proxy, connect):
    """Of two backends one may be pinned."""
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "1s"}}})
    first, second = connect(proxy), connect(proxy)
    first.query("listen x")
    got = second.ask(P("listen y"), B(), E(), S)
    assert [msg.kind for msg in got] == ["E", "Z"]
    fields = got[0].fields()
    assert (fields["S"], fields["C"], hints(fields)["reason"]) == ("ERROR", "54000", "pin_limit")
    assert second.value("select 42") == "42"
    first.terminate()
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")
    assert [msg.kind for msg in second.ask(P("listen y"), B(), E(), S)] == ["1", "2", "C", "Z"]


@needs_proxy
@pytest.mark.parametrize("last", [Q("listen x"), P("listen x", "named") + S], ids=["query", "batch"])
def test_a_pin_too_many_inside_a_block_rolls_it_back(postgres, new_proxy, connect, last):
    """The transaction is over in PostgreSQL at once; the session is in a failed block."""
    postgres.empty_tables()
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "1s"}}})
    first, second = connect(proxy), connect(proxy)
    first.query("listen x")
    second.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    got = second.ask(last)
    assert [msg.kind for msg in got] == ["E", "Z"] and got[-1].status() == "E"
    assert hints(got[0].fields())["reason"] == "pin_limit"
    until(lambda: not postgres.busy(), what="the transaction was rolled back")
    assert second.ask(Q("commit"))[0].tag() == "ROLLBACK"
    assert second.value("select count(*) from t") == "0"


@needs_proxy
def test_a_pin_too_many_inside_a_batch_undoes_the_batch(postgres, new_proxy, connect):
    postgres.empty_tables()
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "1s"}}})
    first, second = connect(proxy), connect(proxy)
    first.query("listen x")
    got = second.ask(
        P("insert into t values (1)"), B(), E(), P("listen x", "l"), B(statement="l"), E(), S
    )
    assert [msg.kind for msg in got] == ["1", "2", "C", "E", "Z"] and got[-1].status() == "I"
    assert second.value("select count(*) from t") == "0"


@needs_proxy
def test_pins_always_leave_a_backend_for_the_others(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "1s"}}})
    for _ in range(3):
        connect(proxy).ask(Q("listen x"))
    assert connect(proxy).value("select 42") == "42"


# ---- advisory locks of the session


@pytest.fixture
def narrow_proxy(postgres, new_proxy):
    """One permit for all, two backends."""
    return new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 2, "pool_wait": "1s"}},
            "workloads": [{"name": "default", "concurrency": 1, "queue": 0, "queue_wait": 0}],
        },
    )


def is_refused(session):
    got = session.ask(Q("select 1 + 0"))
    return got[0].kind == "E" and hints(got[0].fields())["reason"] == "queue_full"


@needs_proxy
def test_a_holder_of_an_advisory_lock_keeps_its_permit_until_the_lock_is_gone(
    narrow_proxy, connect
):
    holder, other = connect(narrow_proxy), connect(narrow_proxy)
    holder.query("select pg_advisory_lock(7)")
    holder.query("select pg_advisory_lock(7)")
    until(lambda: narrow_proxy.running() == 1, what="the permit is held")
    assert is_refused(other)
    # It is never refused itself.
    for text in ["select 1 + 0", "begin", "insert into t values (1)", "rollback"]:
        holder.query(text)
    assert holder.value("select pg_advisory_unlock(7)") == "t"
    assert is_refused(other)
    assert holder.value("select pg_advisory_unlock(7)") == "t"
    until(lambda: narrow_proxy.running() == 0, what="the permit is back")
    assert other.value("select 42") == "42"
    assert narrow_proxy.metrics().gauge("pinned") == 0


@needs_proxy
def test_a_lock_that_was_not_got_keeps_nothing(postgres, narrow_proxy, connect):
    elsewhere = connect(postgres)
    elsewhere.query("select pg_advisory_lock(7)")
    session = connect(narrow_proxy)
    assert session.value("select pg_try_advisory_lock(7)") == "f"
    until(lambda: narrow_proxy.running() == 0, what="the permit is back")
    assert narrow_proxy.metrics().gauge("pinned") == 0
    # By a prepared statement, and given back in the same way.
    elsewhere.query("select pg_advisory_unlock(7)")
    session.ask(P("select pg_try_advisory_lock($1)"), B(["7"]), E(), S)
    until(lambda: narrow_proxy.running() == 1, what="the permit is held")
    session.ask(P("select pg_advisory_unlock($1)"), B(["7"]), E(), S)
    until(lambda: narrow_proxy.running() == 0, what="the permit is back again")


@needs_proxy
@pytest.mark.parametrize("how", ["terminate", "close", "reset_connection"])
def test_a_holder_of_an_advisory_lock_that_leaves_holds_nothing(postgres, narrow_proxy, connect, how):
    holder = connect(narrow_proxy)
    holder.query("select pg_advisory_lock(7)")
    getattr(holder, how)()
    narrow_proxy.assert_clean(within=3)
    assert connect(postgres).value("select pg_try_advisory_lock(7)") == "t"


@needs_proxy
def test_unlisten_ends_a_pin(proxy, connect):
    session = connect(proxy)
    session.query("listen news")
    assert proxy.metrics().gauge("pinned") == 1
    session.query("unlisten *")
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")
    others_see_nothing(proxy, connect)


@needs_proxy
def test_a_backend_is_cleaned_always_where_the_file_says_so(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {"*": {"pool_size": 1}},
            "workloads": [{"name": "default", "concurrency": 1, "queue": 9, "reset": "always"}],
        },
    )
    session = connect(proxy)
    session.query("set work_mem = '2MB'")
    since = postgres.log_end()
    assert session.value("show work_mem") == "2MB"
    until(lambda: postgres.has_seen("DISCARD ALL", since), what="it was cleaned")
    assert session.value("show work_mem") == "2MB"
