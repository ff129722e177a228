"""A backend cannot be had: the client is told why, in time, and lives on."""

import os
import re
import signal

import pytest

from support.lanes import check_lost, hints
from support.messages import Q, only_error, shape
from support.secrets import secret
from support.waiting import PATIENCE, Stopwatch, free_port, until, until_none
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


# ---- a backend that cannot be had


@pytest.fixture
def bounded():
    """Nobody waits longer than this for bad news."""
    with Stopwatch() as watch:
        yield
    assert watch.seconds < 8 * PATIENCE


REFUSED = [
    ({"database": "nope"}, "3D000"),
    ({"user": "nobody"}, "28000"),
    ({"user": "banned"}, "28000"),
    ({"user": "lonely"}, "53300"),
    ({"nonsense": "1"}, "42704"),
    ({"work_mem": "lots"}, "22023"),
    ({"options": "nonsense"}, "42601"),
    ({"max_connections": "5"}, "55P02"),
    ({"log_statement": "none"}, "42501"),
]
refused = pytest.mark.parametrize(
    "params, code", REFUSED, ids=["-".join([*params, code]) for params, code in REFUSED]
)


@refused
def test_a_login_that_postgresql_refuses_is_refused_with_its_words(
    postgres, proxy, connect, bounded, params, code
):
    with pytest.raises(ServerError) as direct:
        connect(postgres, **params)
    with pytest.raises(ServerError) as through:
        connect(proxy, **params)
    fields = {key: value for key, value in through.value.fields.items() if key not in "FLR"}
    assert fields == {key: value for key, value in direct.value.fields.items() if key not in "FLR"}
    assert (fields["S"], fields["C"]) == ("FATAL", code)


@refused
def test_a_refused_login_delays_nobody_else(postgres, new_proxy, connect, params, code):
    """Whoever asks for what cannot be had must not make the others wait, nor get their answers."""
    proxy = new_proxy(postgres)
    working = connect(proxy)
    for _ in range(3):
        with pytest.raises((ServerError, TimeoutError)):
            Session(proxy.address, {"user": "alice", "database": "bulkhead", **params})
        with Stopwatch() as watch:
            assert connect(proxy, user="bob", DateStyle="German").value("select 42") == "42"
            assert working.value("select 42") == "42"
        assert watch.seconds < 2 * PATIENCE


def test_a_wrong_password_is_told_to_the_client_and_never_logged(
    postgres, new_proxy, connect, bounded
):
    proxy = new_proxy(
        postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"port={postgres.port} host=127.0.0.1 user=locked "
                    f"password={secret('opensesame')}"
                }
            }
        },
    )
    with pytest.raises(ServerError) as caught:
        connect(proxy)
    assert (caught.value.fields["S"], caught.value.fields["C"]) == ("FATAL", "28P01")
    assert "opensesame" not in proxy.log()


def test_the_right_password_of_conninfo_opens_backends(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host=127.0.0.1 port={postgres.port} user=locked "
                    f"password={secret('right-and-secret')}"
                }
            }
        },
    )
    assert connect(proxy).value("select current_user") == "locked"


def test_a_password_that_is_missing_is_a_clear_fatal(proxy, connect, bounded):
    with pytest.raises(ServerError) as caught:
        connect(proxy, user="locked")
    assert caught.value.fields["S"] == "FATAL" and caught.value.fields["C"].startswith("28")


def test_a_postgresql_that_is_not_there_is_told_at_login(postgres, new_proxy, connect, bounded):
    proxy = new_proxy(
        postgres, {"databases": {"*": {"conninfo": f"host=127.0.0.1 port={free_port()}"}}}
    )
    with pytest.raises(ServerError) as caught:
        connect(proxy)
    fields = caught.value.fields
    assert fields["S"] == "FATAL" and fields["C"][:2] in ("08", "57"), fields
    assert proxy.get("/healthz")[0] == 200


def test_a_right_that_is_lost_after_the_login_is_told_by_the_statement(
    postgres, new_proxy, connect, bounded
):
    """The user was greeted; then its backends are ended and it may not come back."""
    postgres.sql("drop role if exists fleeting; create role fleeting login")
    proxy = new_proxy(postgres)
    session = connect(proxy, user="fleeting")
    session.query("select 1 + 0")
    postgres.sql("alter role fleeting nologin")
    postgres.end_backends()
    own = "select pid from pg_stat_activity where usename = 'fleeting'"
    until_none(lambda: postgres.sql(own), what="its backends have gone")
    fields = only_error(session.ask(Q("select 1 + 0")))
    assert fields["C"] == "28000"
    postgres.sql("alter role fleeting login")
    assert until(lambda: try_query(session), within=10, what="the user may work again") == "42"


def try_query(session):
    try:
        return session.value("select 42")
    except ServerError:
        return None


# ---- PostgreSQL goes and comes


@pytest.fixture
def fallible(own_postgres, new_proxy):
    """A proxy before a PostgreSQL that the test stops; it runs again at the end."""
    yield new_proxy(
        own_postgres, {"databases": {"*": {"pool_wait": "500ms", "connect_timeout": "2s"}}}
    )
    if not own_postgres.is_up():
        own_postgres.start()


def test_a_postgresql_that_stops_is_told_by_a_refusal_and_sessions_live(
    own_postgres, fallible, connect, bounded
):
    session, idle = connect(fallible), connect(fallible)
    assert session.value("select 1 + 0") == "1"
    own_postgres.stop()
    for _ in range(3):
        fields = only_error(session.ask(Q("select 1 + 0")))
        assert fields["C"] == "40001" and hints(fields)["reason"] in (
            "backend_down",
            "pool_timeout",
        )
    got = session.ask(Q("begin"), Q("insert into t values (1)"), Q("commit"), ready=3)
    assert shape(got) == "CZTEZECZI"
    until(lambda: fallible.get("/readyz")[0] == 503, what="not ready")
    reason = r"not ready: backend_down\ndatabase \* cannot be reached for \d+ s: .*refused"
    assert re.match(reason, fallible.get("/readyz")[1])
    assert fallible.get("/healthz")[0] == 200
    own_postgres.start()
    for other in (session, idle):
        assert until(lambda one=other: try_query(one), within=15, what="work goes on") == "42"
    until(lambda: fallible.get("/readyz")[0] == 200, within=15, what="ready again")


def test_one_database_of_two_that_is_away_is_told_and_the_other_keeps_its_instance(
    postgres, new_proxy, connect
):
    databases = {
        "gone": {"conninfo": f"host=127.0.0.1 port={free_port()}"},
        "*": {"conninfo": f"host=127.0.0.1 port={postgres.port}"},
    }
    proxy = new_proxy(postgres, {"databases": databases})
    with pytest.raises(ServerError):
        connect(proxy, database="gone")
    assert re.match("not ready: backend_down\ndatabase gone cannot", proxy.get("/readyz")[1])
    assert connect(proxy).value("select 'at work'") == "at work"
    status, text = proxy.get("/readyz")
    assert status == 200 and re.match("ready\ndatabase gone cannot be reached", text)


def test_a_restart_between_two_queries_costs_no_error(own_postgres, fallible, connect):
    sessions = [connect(fallible) for _ in range(10)]
    for session in sessions:
        session.query("select 1 + 0")
    own_postgres.restart()
    assert [session.value("select 42") for session in sessions] == ["42"] * 10


def test_many_waiters_hear_of_a_stopped_postgresql_in_time(
    own_postgres, fallible, connect, bounded
):
    sessions = [connect(fallible) for _ in range(50)]
    own_postgres.stop()
    for session in sessions:
        session.send(Q("select 1 + 0"))
    for session in sessions:
        assert only_error(session.until("Z"))["C"] == "40001"
    until(lambda: not fallible.metrics().held(), what="all permits are back")


def test_a_backend_killed_with_sigkill_is_told_as_lost_and_service_returns(
    own_postgres, fallible, connect
):
    """The crash of one backend makes PostgreSQL restart itself (57P02, then 57P03)."""
    session = connect(fallible)
    session.query("begin")
    pid = int(session.value("select pg_backend_pid()"))
    session.send(Q("select pg_sleep(30)"))
    until(lambda: own_postgres.running("pg_sleep"), what="it runs")
    os.kill(pid, signal.SIGKILL)
    got = session.until("Z")
    check_lost(only_error(got))
    assert session.ask(Q("commit"))[0].tag() == "ROLLBACK"
    assert until(lambda: try_query(session), within=20, what="work goes on") == "42"


def test_a_full_postgresql_is_told_in_time_and_recovers(postgres, new_proxy, connect, bounded):
    """The role may have one connection, which somebody else has."""
    postgres.sql("drop role if exists single; create role single login connection limit 1")
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_wait": "500ms"}}})
    session = connect(proxy, user="single")
    session.query("select 1 /* single */")
    postgres.end_backends("/* single */")
    until(
        lambda: postgres.count("select count(*) from pg_stat_activity where usename = 'single'")
        == 0
    )
    other = Session(postgres.address, {"user": "single", "database": "bulkhead"})
    fields = only_error(session.ask(Q("select 1 + 0")))
    assert fields["C"] == "40001" and hints(fields)["reason"] in ("backend_down", "pool_timeout")
    other.terminate()
    assert until(lambda: try_query(session), within=15, what="work goes on") == "42"
