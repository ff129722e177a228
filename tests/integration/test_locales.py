"""Nothing is decided by words: a PostgreSQL that speaks German, and a proxy whose environment is Turkish, where `I` in
small letters is not `i`."""

import os
import subprocess
import tempfile

import pytest

from support.lanes import check_lost
from support.messages import Q, only_error, startup
from support.postgres import DATABASE, Postgres
from support.waiting import until
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy

GERMAN, TURKISH = "de_DE.UTF-8", "tr_TR.UTF-8"


@pytest.fixture(scope="module")
def locales():
    """A folder with the two, where PostgreSQL may read; Debian has their sources and makes none."""
    with tempfile.TemporaryDirectory(prefix="pgbulkhead-locales-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        for name in (GERMAN, TURKISH):
            source = name.partition(".")[0]
            subprocess.run(["localedef", "-i", source, "-f", "UTF-8", f"{folder}/{name}"], check=True)
        yield folder


@pytest.fixture(scope="module")
def german(locales):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOCPATH", locales)
        server = Postgres(lc_messages=GERMAN, datestyle="SQL, DMY", timezone="-07:30")
        assert "existiert nicht" in error_of(server, "select * from nowhere")["M"]
        yield server
        server.remove()


@pytest.fixture(scope="module")
def proxy(german, locales, module_proxy):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOCPATH", locales)
        patched.setenv("LC_ALL", TURKISH)
        # glibc forgets to free what it makes of LOCPATH.
        patched.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        return module_proxy(german)


def error_of(where, text, **params):
    session = Session(where.address, {"user": "alice", "database": DATABASE, **params})
    got = session.ask(Q(text))
    session.terminate()
    return next(msg for msg in got if msg.kind == "E").fields()


def refusal(where, **params):
    session = Session(where.address)
    session.send(startup({"user": "alice", "database": DATABASE, **params}))
    fields = [msg for msg in session.drain() if msg.kind == "E"][-1].fields()
    return {name: fields[name] for name in "SVCM"}


@pytest.mark.parametrize(
    "params",
    [{"user": "nobody_here"}, {"user": "banned"}, {"database": "nowhere"}, {"DateStyle": "nonsense"}],
    ids=lambda params: "-".join(params.values()),
)
def test_a_login_that_postgresql_refuses_is_told_as_it_said_it(proxy, german, params):
    told = refusal(proxy, **params)
    assert told == refusal(german, **params)
    assert told["C"] in ("28000", "3D000", "22023")


def test_errors_of_statements_come_through_unchanged(proxy, german):
    for text in ("select * from nowhere", "select 1/0", "selekt", "select 'x'::int"):
        assert error_of(proxy, text) == error_of(german, text)


def test_a_backend_that_is_ended_is_known_by_its_code(proxy, german, connect):
    session = connect(proxy)
    session.ask(Q("begin"), Q("insert into t values (1)"), ready=2)
    german.end_backends()
    check_lost(only_error(session.ask(Q("select 1 + 0"))))
    session.query("rollback")
    assert session.value("select 'lives on'") == "lives on"


def test_a_cancel_is_known_by_its_code(proxy, german, connect):
    session = connect(proxy)
    session.send(Q("select pg_sleep(60)"))
    until(lambda: german.running("pg_sleep(60)"), what="it runs")
    session.cancel()
    told = [msg.fields() for msg in session.until("Z") if msg.kind == "E"]
    assert [(fields["S"], fields["V"], fields["C"]) for fields in told] == [("FEHLER", "ERROR", "57014")]
    assert session.value("select 'lives on'") == "lives on"


def test_keywords_are_read_without_a_locale(proxy, german, connect):
    """With Turkish rules INSERT, COMMIT and BEGIN have no small i."""
    german.empty_tables()
    session = connect(proxy)
    for text in ("BEGIN ISOLATION LEVEL SERIALIZABLE", "INSERT INTO t VALUES (1)", "COMMIT"):
        session.query(text)
    assert german.count("select count(*) from t") == 1
    session.query("SET TIME ZONE 'UTC'")
    session.query("BEGIN")
    assert proxy.running() == 0
    session.query("COMMIT")


def test_dates_and_time_zones_without_a_name_are_reported_as_they_are(proxy, german, connect):
    session = connect(proxy)
    for name in ("DateStyle", "TimeZone"):
        direct = Session(german.address, {"user": "alice", "database": DATABASE})
        assert session.parameters[name] == direct.parameters[name]
        direct.terminate()
    assert session.value("select to_char(1234.5, '9999D9')").strip() == "1234.5"


def test_figures_and_the_log_know_no_comma(proxy, connect):
    connect(proxy).query("select pg_sleep(0.01)")
    assert proxy.metrics().sum("pgbulkhead_uptime_seconds") > 0
    assert "," not in proxy.log().splitlines()[0]
