"""Settings of a session are in force on every backend that serves it and on no other, and a client
knows the true values of those that PostgreSQL reports."""

import pytest

from support.messages import B, E, P, Q, S, batch
from support.news import news
from support.waiting import until
from support.wire import ServerError

needs_proxy = pytest.mark.needs_proxy

# One backend for all, so that each transaction is on the one of somebody else.
ONE = {"databases": {"*": {"pool_size": 1, "pool_wait": "10s"}}}

OTHER_SETTINGS = "set search_path = pg_catalog; set work_mem = '3MB'; set application_name = 'other'"


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, ONE)


@pytest.fixture
def rival(proxy, connect):
    """Another session with settings of its own on the same backend."""
    session = connect(proxy)
    session.query(OTHER_SETTINGS)
    return session


# How a setting is said, and what shows it. Each must read as in PostgreSQL itself, also after the
# backend has served somebody else.
SPELLINGS = [
    ("set search_path = public, pg_catalog", "show search_path"),
    ("set search_path = \"$user\", public", "show search_path"),
    ("set search_path to 'public, pg_catalog'", "show search_path"),
    ("set search_path = \"A b\", \"it's\", \"a\"\"b\"", "show search_path"),
    ("set search_path = ''", "show search_path"),
    ("set application_name = 'it''s; drop table t; --'", "show application_name"),
    ("set application_name = E'back\\\\slash'", "show application_name"),
    ("set application_name to default", "show application_name"),
    ("set application_name = $$dollar 'quoted'$$", "show application_name"),
    ("/* a */ set /* b */ session work_mem /* c */ = 2048 -- d", "show work_mem"),
    ("set WORK_MEM to '4MB'; set maintenance_work_mem = '5MB'", "show work_mem"),
    ("set sort_mem = 3000", "show work_mem"),
    ("set extra_float_digits = -2", "show extra_float_digits"),
    ("set lock_timeout = 0", "show lock_timeout"),
    ("set seq_page_cost = 1.5", "show seq_page_cost"),
    ("set geqo_seed = 0.25", "show geqo_seed"),
    ("set enable_seqscan = off", "show enable_seqscan"),
    ("set time zone 'Asia/Tokyo'", "show timezone"),
    ("set time zone -7", "show timezone"),
    ("set time zone local", "show timezone"),
    ("set datestyle = German, YMD", "show datestyle"),
    ("set names 'latin1'", "show client_encoding"),
    ("set schema 'pg_catalog'", "show search_path"),
    ("set xml option document", "show xmloption"),
    ("set custom.setting = 'x'", "show custom.setting"),
    ("set custom.\"Odd name\" = 'x'", "select 1 + 0"),
    ("set custom.setting = 'größe €'", "show custom.setting"),
    ("set role clerk", "select current_user"),
    ("set role clerk; set role none", "select current_user"),
    ("set session authorization clerk", "select session_user || current_user"),
    ("set session authorization clerk; set session authorization default", "select session_user"),
    ("set session characteristics as transaction isolation level serializable, read only, deferrable",
     "select current_setting('transaction_isolation') || current_setting('transaction_read_only')"),
    ("set session characteristics as transaction read only; set default_transaction_read_only = off",
     "show default_transaction_read_only"),
    ("select set_config('custom.a', 'it''s', false), set_config('search_path', 'public, \"B\"', false)",
     "select current_setting('custom.a') || current_setting('search_path')"),
    ("select pg_catalog.set_config('work_mem', '6MB', false)", "show work_mem"),
    ("set work_mem = '2MB'; reset work_mem", "show work_mem"),
    ("set work_mem = '2MB'; set search_path = a; reset all", "show work_mem"),
    ("set work_mem = '2MB'; select 1; set local work_mem = '3MB'", "show work_mem"),
    ("begin; set local work_mem = '2MB'; commit", "show work_mem"),
]  # fmt: skip


@pytest.mark.parametrize("text, shown", SPELLINGS, ids=[text[:60] for text, _ in SPELLINGS])
def test_a_setting_reads_the_same_behind_somebody_else(
    postgres, proxy, connect, rival, text, shown
):
    answers = []
    for server in (postgres, proxy):
        session = connect(server)
        session.ask(Q(text))
        session.query("begin")
        session.query("rollback")
        if server is proxy and proxy.metrics().gauge("pinned") == 0:
            assert rival.value("show work_mem") == "3MB"
        answers.append(session.query(shown))
        session.terminate()
    assert answers[0] == answers[1]
    until(lambda: rival.value("show application_name") == "other", what="the other's own again")


# What is not followed: the session keeps its backend, and its settings with it.
PINNING = [
    ("set application_name = U&'d\\0061t'", "show application_name"),
    ("set application_name = 'back\\slash'", "show application_name"),
    ("set time zone interval '-03:30' hour to minute", "show timezone"),
    ("select set_config('custom.' || 'b', 'x', false)", "show custom.b"),
    ("select set_config('custom.b', 'x', false) from generate_series(1, 2)", "show custom.b"),
    ("begin; set work_mem = '2MB'; commit", "show work_mem"),
    ("begin; set work_mem = '2MB'; rollback", "show work_mem"),
    ("set transaction_isolation = 'serializable'", "show transaction_isolation"),
    ("set work_mem from current", "show work_mem"),
]


@pytest.fixture(scope="module")
def wide_proxy(module_proxy, postgres):
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "10s"}}})


@pytest.mark.parametrize("text, shown", PINNING, ids=[text[:60] for text, _ in PINNING])
def test_a_setting_that_is_not_followed_stays_on_its_backend(
    postgres, wide_proxy, connect, text, shown
):
    rival = connect(wide_proxy)
    rival.query(OTHER_SETTINGS)
    answers = []
    for server in (postgres, wide_proxy):
        session = connect(server)
        session.ask(Q(text))
        assert rival.value("show work_mem") == "3MB"
        answers.append(session.query(shown))
        session.terminate()
    assert answers[0] == answers[1]
    wide_proxy.assert_clean()
    assert connect(wide_proxy).value("show work_mem") == "4MB"


@needs_proxy
def test_settings_beyond_the_bound_stay_on_their_backend(wide_proxy, connect):
    session, rival = connect(wide_proxy), connect(wide_proxy)
    for i in range(70):
        session.query(f"set custom.n{i} = '{i}'")
        assert rival.value("show work_mem") == "4MB"
    for i in range(70):
        assert session.value(f"show custom.n{i}") == str(i)
    assert wide_proxy.metrics().gauge("pinned") == 1


STEPS = {
    "query": lambda session, text: session.ask(Q(text)),
    "batch": lambda session, text: session.ask(batch(text), S),
    "parse first": lambda session, text: session.ask(P(text), S, B(), E(), S, ready=2),
    "pipeline": lambda session, text: session.ask(batch("show all"), S, batch(text), S, ready=2),
}

BLOCKS = [
    (["begin", "set work_mem = '2MB'", "commit"], "2MB"),
    (["begin", "set work_mem = '2MB'", "rollback"], "4MB"),
    (["begin", "set work_mem = '2MB'", "select 1/0", "commit"], "4MB"),
    (["begin", "set work_mem = '2MB'", "commit and chain", "set work_mem = '1MB'", "rollback"], "2MB"),
    (["begin", "set work_mem = '2MB'", "rollback and chain", "set work_mem = '1MB'", "commit"], "1MB"),
    (["begin", "savepoint a", "set work_mem = '2MB'", "release a", "commit"], "2MB"),
    (["begin", "savepoint a", "set work_mem = '2MB'", "rollback to a", "commit"], "4MB"),
    (["begin", "set work_mem = '2MB'", "savepoint a", "select 1/0", "rollback to a", "commit"], "2MB"),
    (["begin", "set local work_mem = '2MB'", "commit"], "4MB"),
    (["begin", "set work_mem = '2MB'", "set local work_mem = '1MB'", "commit"], "2MB"),
    (["begin", "reset work_mem", "rollback"], "4MB"),
    (["begin", "set work_mem = '2MB'", "end"], "2MB"),
    (["begin", "set work_mem = '2MB'", "abort"], "4MB"),
]  # fmt: skip


@pytest.mark.parametrize("how", STEPS)
@pytest.mark.parametrize("texts, expected", BLOCKS, ids=[" ".join(t)[:70] for t, _ in BLOCKS])
def test_a_setting_is_kept_and_undone_with_its_block(proxy, connect, rival, how, texts, expected):
    session = connect(proxy)
    session.query("set work_mem = '4MB'")
    for text in texts:
        STEPS[how](session, text)
    assert rival.value("show work_mem") == "3MB"
    assert session.value("show work_mem") == expected
    session.terminate()
    assert until(lambda: rival.value("show work_mem"), what="a backend is free") == "3MB"


def test_a_batch_that_fails_undoes_its_settings(proxy, connect, rival):
    session = connect(proxy)
    session.ask(P("set work_mem = '2MB'"), B(), E(), P("select 1/0"), B(), E(), S)
    assert rival.value("show work_mem") == "3MB"
    assert session.value("show work_mem") == "4MB"


def test_a_pipeline_behind_a_setting_runs_with_it(proxy, connect, rival):
    session = connect(proxy)
    got = session.ask(Q("set work_mem = '2MB'"), Q("show work_mem"), batch("show work_mem"), S, ready=3)
    assert [msg.row() for msg in got if msg.kind == "D"] == [("2MB",), ("2MB",)]


@pytest.mark.parametrize("last", ["discard all", "reset all; reset role", "reset role", "reset all"])
def test_what_undoes_settings_undoes_them_everywhere(postgres, proxy, connect, rival, last):
    shown = "select current_user || current_setting('work_mem') || current_setting('application_name')"
    answers = []
    for server in (postgres, proxy):
        session = connect(server, application_name="mine")
        for text in ["set role clerk", "set work_mem = '2MB'", "set application_name = 'new'", last]:
            session.query(text)
        assert rival.value("show work_mem") == "3MB"
        answers.append(session.value(shown))
        session.terminate()
    assert answers[0] == answers[1]


# ---- no cost when nothing differs


@needs_proxy
def test_startup_parameters_cost_no_statement(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, ONE)
    session = connect(proxy, DateStyle="ISO", application_name="counted")
    session.query("select 1 + 0")
    since = postgres.log_end()
    for _ in range(20):
        session.query("select 'counted'")
    assert not postgres.has_seen("pgb_setting", since)
    assert not postgres.has_seen("DISCARD", since)


# ---- the truth about parameters


def reported(session, got):
    """What the client knows after these messages."""
    for msg in got:
        if msg.kind == "S":
            name, value = msg.parameter()
            session.parameters[name] = value
    return session.parameters


def test_two_sessions_on_one_backend_always_know_and_have_their_own(proxy, connect):
    shown = (
        "select current_setting('client_encoding'), current_setting('TimeZone'), "
        "current_setting('application_name')"
    )
    values = [("UTF8", "Asia/Tokyo", "first"), ("LATIN1", "America/Lima", "second")]
    names = ("client_encoding", "TimeZone", "application_name")
    sessions = [connect(proxy), connect(proxy)]
    for session, own in zip(sessions, values):
        for name, value in zip(names, own):
            reported(session, session.ask(Q(f"set {name} = '{value}'")))
    for _ in range(1000):
        for session, own in zip(sessions, values):
            got = session.ask(Q(shown))
            known = reported(session, got)
            assert [msg.row() for msg in got if msg.kind == "D"] == [own]
            assert tuple(known[name] for name in names) == own
            # The truth was known before, so that nothing was told.
            assert [msg for msg in got if msg.kind == "S"] == []


@pytest.mark.parametrize(
    "texts",
    [["begin", "set timezone = 'Asia/Tokyo'", "rollback"],
     ["begin", "set local timezone = 'Asia/Tokyo'", "commit"],
     ["set timezone = 'Asia/Tokyo'", "discard all"],
     ["set timezone = 'Asia/Tokyo'", "reset all"],
     ["set role clerk", "reset role"],
     ["set session authorization clerk", "reset session authorization"]],
    ids=" ".join,
)  # fmt: skip
def test_a_client_is_told_the_same_as_by_postgresql(postgres, proxy, connect, rival, texts):
    known = []
    for server in (postgres, proxy):
        session = connect(server)
        lines = []
        for text in texts:
            got = session.ask(Q(text))
            rival.value("select 1 + 0") if text != "begin" and "set local" not in text and not (
                texts[0] == "begin" and text != texts[-1]
            ) else None
            lines.append(sorted(msg.parameter() for msg in news(session, got) if msg.kind == "S"))
        known.append(lines)
        session.terminate()
    assert known[0] == known[1]


def test_a_reload_of_postgresql_is_told_with_the_next_query(own_postgres, new_proxy, connect):
    proxy = new_proxy(own_postgres, ONE)
    sessions = [connect(proxy), connect(proxy)]
    for session in sessions:
        session.query("select 1 + 0")
    own_postgres.sql("alter system set timezone = 'Asia/Tokyo'")
    own_postgres.sql("select pg_reload_conf()")
    try:
        until(
            lambda: reported(sessions[0], sessions[0].ask(Q("show timezone")))["TimeZone"]
            == "Asia/Tokyo",
            what="the first is told",
        )
        got = sessions[1].ask(Q("show timezone"))
        assert reported(sessions[1], got)["TimeZone"] == "Asia/Tokyo"
        # And whoever comes now is greeted with it.
        assert connect(proxy).parameters["TimeZone"] == "Asia/Tokyo"
    finally:
        own_postgres.sql("alter system reset timezone")
        own_postgres.sql("select pg_reload_conf()")


def test_a_session_is_greeted_with_the_values_of_nobody_elses(proxy, connect):
    session = connect(proxy)
    session.query("set timezone = 'Asia/Tokyo'")
    session.query("set role clerk")
    assert connect(proxy).parameters["TimeZone"] != "Asia/Tokyo"
    assert connect(proxy).parameters["is_superuser"] == session.parameters["is_superuser"]


# ---- what PostgreSQL no longer takes


@needs_proxy
def test_work_never_runs_without_its_settings(postgres, proxy, connect, rival):
    postgres.empty_tables()
    postgres.sql("drop role if exists gone")
    postgres.sql("create role gone")
    postgres.sql("grant gone to alice")
    postgres.sql("grant all on t to gone")
    session = connect(proxy)
    session.query("set role gone")
    postgres.sql("revoke all on t from gone")
    postgres.sql("drop role gone")
    rival.query("select 1 + 0")
    for _ in range(3):
        with pytest.raises(ServerError) as refused:
            session.query("insert into t values (1)")
        assert refused.value.fields["C"] == "22023"
        assert refused.value.fields["S"] == "ERROR"
    session.query("begin")
    got = session.ask(batch("insert into t values (2)"), S)
    assert [msg.kind for msg in got] == ["E", "Z"] and got[-1].status() == "E"
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"
    assert postgres.count("select count(*) from t") == 0
    assert rival.value("show work_mem") == "3MB"
    # What undoes the setting needs no backend that has it.
    session.query("reset role")
    session.query("insert into t values (3)")
    assert session.value("select current_user") == "alice"


def test_a_text_that_is_no_statement_of_a_setting_changes_nothing(proxy, connect, rival):
    session = connect(proxy)
    for text in ["select 'set role clerk'", "select 1 as \"set_config\"", "set role 'nobody at all'"]:
        session.ask(Q(text))
    assert rival.value("show work_mem") == "3MB"
    assert session.value("select current_user") == "alice"
