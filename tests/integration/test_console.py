"""The console, as people and programs find it: by psql, by drivers, and byte by byte."""

import re
import subprocess

import psycopg
import pytest

from support.lanes import WORKLOADS, Holder, queued
from support.messages import B, C, D, E, H, P, Q, S
from support.waiting import PATIENCE, until
from support.wire import ServerError

pytestmark = pytest.mark.needs_proxy

VIEWS = (
    "workloads holders waiters pools backends clients pins stats config version help"
).split()


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture
def console(proxy, connect):
    """`console(user)`: a session over the Unix socket, where a name is enough."""

    def make(user="admin", address=None, **more):
        return connect(
            proxy, address=address or proxy.unix_address, user=user, database="pgbulkhead", **more
        )

    return make


def psql(proxy, *commands, user="admin"):
    """What psql prints."""
    done = subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", str(proxy.directory), "-p", str(proxy.port)]
        + ["-U", user, "-d", "pgbulkhead"]
        + [word for command in commands for word in ("-c", command)],
        capture_output=True,
        text=True,
        timeout=20 * PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


def by_psycopg(proxy, user="admin", **more):
    return psycopg.connect(
        host=str(proxy.directory), port=proxy.port, user=user, dbname="pgbulkhead", **more
    )


def test_psql_shows_the_workloads_in_lines_that_a_terminal_holds(proxy):
    code, out, err = psql(proxy, "show workloads;")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[::2][:6] == ["workload", "mode", "running", "limit", "waiting", "queue"]
    assert max(map(len, lines)) < 200
    assert re.search(r"^ tight +\| enforce +\| +0 \| +1 \|", out, re.MULTILINE)
    assert lines[-2] == "(6 rows)"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_the_same_by_both_protocols_and_in_both_formats(proxy, console, view):
    with by_psycopg(proxy, autocommit=True) as connection:
        text = connection.execute(f"SHOW {view}")
        names = [column.name for column in text.description]
        binary = connection.cursor(binary=True).execute(f"Show {view} ;", prepare=True)
        assert [column.name for column in binary.description] == names
        count = len(binary.fetchall())
    assert count == len(text.fetchall()) or view == "stats"
    assert [message.kind for message in console().ask(Q(f"show {view}"))][0] == "T"


def test_numbers_are_numbers_in_text_and_in_binary(proxy):
    with by_psycopg(proxy, autocommit=True) as connection:
        for binary in (False, True):
            rows = connection.cursor(binary=binary).execute("show workloads").fetchall()
            (pair,) = [row for row in rows if row[0] == "pair"]
            assert pair[:8] == ("pair", "enforce", 0, 2, 0, 50, 20.0, 0)


def test_drivers_begin_and_commit_as_they_like(proxy):
    with by_psycopg(proxy) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert connection.info.transaction_status.name == "INTRANS"
        assert connection.execute("show transaction_read_only").fetchone() == ("off",)
        connection.execute("set application_name = 'x'")
        connection.commit()
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("frobnicate")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("show version")
        connection.rollback()
        assert connection.execute("show version").fetchone()[0].startswith("pgbulkhead ")


def test_a_simple_query_with_several_commands_stops_at_the_first_that_fails(console):
    session = console()
    kinds = [message.kind for message in session.ask(Q("show version; ; kill 999999; show help"))]
    assert kinds == ["T", "D", "C", "E", "Z"]
    assert [message.kind for message in session.ask(Q(" ; -- nothing"))] == ["I", "Z"]
    # Read before anything is done.
    assert [message.kind for message in session.ask(Q("show version; shwo help"))] == ["E", "Z"]


def test_a_batch_is_skipped_up_to_its_sync_and_the_next_one_runs(console):
    session = console()
    bad = P("show nothing") + B() + E() + S
    good = P("show version", "one") + D("S", "one") + B((), "one") + D() + E() + S
    session.send(bad + good + C("S", "one") + B((), "one") + S)
    assert [message.kind for message in session.until("Z")] == ["E", "Z"]
    kinds = [message.kind for message in session.until("Z")]
    assert kinds == ["1", "t", "T", "2", "T", "D", "C", "Z"]
    closed = session.until("Z")
    assert [message.kind for message in closed] == ["3", "E", "Z"]
    assert closed[1].fields()["C"] == "26000"


def test_a_portal_gives_its_rows_in_portions(console):
    session = console()
    session.send(P("show help") + B() + E(2) + E(2) + E() + S)
    kinds = "".join(message.kind for message in session.until("Z"))
    assert re.fullmatch("12DDsDDsD+CZ", kinds)


@pytest.mark.parametrize(
    "text, code, hint",
    [
        ("show worklods", "42601", "Did you mean workloads?"),
        ("shwo workloads", "42601", "Did you mean show?"),
        ("set workload pairs concurrency = 3", "42704", "Did you mean pair?"),
        ("set workload pair concurency = 3", "42601", "Did you mean concurrency?"),
        ("set workload pair concurrency = 0", "22023", None),
        ("set workload pair mode = 'shadwo'", "22023", "Did you mean shadow?"),
        ("set workload pair concurrency", "42601", None),
        ("kill me", "42601", "SHOW CLIENTS"),
        ("kill 999999", "42704", "SHOW CLIENTS"),
        ("pause nowhere", "3D000", "SHOW POOLS"),
        ("select * from t", "0A000", "SHOW HELP"),
        ("show 'workloads", "42601", None),
    ],
)
def test_a_mistake_is_told_with_what_was_meant(console, text, code, hint):
    fields = console().ask(Q(text))[0].fields()
    assert fields["C"] == code
    assert hint is None or hint in fields["H"]


def test_who_holds_is_shown_without_literals_and_who_waits_too(proxy, connect, console):
    holder = Holder(connect, proxy, "patient")
    holder.session.query("select 'hush' as quiet")
    waiter = queued(proxy, connect, "patient", "select 2")
    (row,) = console().query("show holders")
    assert row[0] == "patient" and row[1] == "idle_in_transaction"
    assert row[10] == "select ? as quiet"
    (row,) = console().query("show waiters")
    assert row[0] == "patient" and row[2] == "permit"
    holder.release()
    waiter.until("Z")


# ---- who may do what


def test_who_is_no_console_user_may_look_and_change_nothing(proxy, console):
    session = console("alice")
    assert session.query("show workloads")
    for text in ("set workload pair concurrency = 3", "pause", "reload", "drain", "kill 1"):
        with pytest.raises(ServerError) as refused:
            session.query(text)
        assert refused.value.fields["C"] == "42501"
    assert proxy.metrics().gauge("concurrency_limit", "pair") == 2


def test_trust_over_tcp_is_no_proof_of_a_name(proxy, console):
    session = console(address=proxy.address)
    assert session.query("show version")
    with pytest.raises(ServerError) as refused:
        session.query("set workload pair concurrency = 3")
    assert refused.value.fields["C"] == "42501"


# ---- what commands do


def test_more_budget_admits_who_waits_at_once_and_less_lets_run_what_runs(
    proxy, connect, console
):
    session = console()
    holders = [Holder(connect, proxy, "pair") for _ in range(2)]
    waiter = queued(proxy, connect, "pair", "select 'in'")
    session.query("set workload pair concurrency = 3")
    assert waiter.until("Z")[1].kind == "D"
    assert proxy.metrics().sum("pgbulkhead_config_live_changes") == 1
    session.query("SET WORKLOAD \"pair\" concurrency = 1, queue_wait = '15s', queue 40, mode=enforce")
    late = queued(proxy, connect, "pair", "select 'late'")
    holders[0].release()
    assert (proxy.running("pair"), proxy.waiting("pair")) == (1, 1)
    holders[1].release()
    assert late.until("Z")[1].kind == "D"
    config = {row[0]: row[1:] for row in session.query("show config")}
    assert config["workloads[pair].concurrency"] == ("1", "2", "live")
    messages = session.ask(Q("reload"))
    told = [message.fields()["M"] for message in messages if message.kind == "N"]
    assert "workloads[pair].concurrency: 1 -> 2" in told
    assert proxy.metrics().gauge("concurrency_limit", "pair") == 2
    assert proxy.metrics().sum("pgbulkhead_config_live_changes") == 0
    assert "trigger=console user=admin" in proxy.log()


def test_kill_ends_a_session_and_gives_its_permit_back(proxy, connect, console):
    holder = Holder(connect, proxy, "tight")
    holder.session.query("insert into t values (1)")
    session = console()
    (victim,) = [row for row in session.query("show clients") if row[6] == "tight"]
    session.query(f"kill {victim[0]}")
    assert holder.session.read().fields()["C"] == "57P01"
    until(lambda: proxy.running("tight") == 0, what="its permit is back")
    assert Holder(connect, proxy, "tight").session.value("select count(*) from t") == "0"


@pytest.mark.parametrize("state", ["idle", "queued", "pinned", "waiting_backend", "in a batch"])
def test_kill_finds_a_client_wherever_it_is(proxy, connect, console, state):
    session = console()
    holder = Holder(connect, proxy, "patient") if state == "queued" else None
    victim = connect(proxy, application_name="patient")
    if state == "pinned":
        victim.query("listen something")
        assert session.query("show pins")[0][1] == "state"
    elif state == "waiting_backend":
        session.query("pause")
        victim.send(Q("select 2 + 0"))
        until(lambda: session.query("show waiters"), what="it waits for a backend")
    elif state == "queued":
        victim.send(Q("select 2 + 0"))
        until(lambda: proxy.waiting("patient") == 1, what="it waits for a permit")
    elif state == "in a batch":
        victim.send(P("select 2 + 0") + B() + E() + H)
        victim.until("C")
    number = max(int(row[0]) for row in session.query("show clients") if row[5] == "patient")
    session.query(f"kill {number}")
    assert victim.until("E")[-1].fields()["C"] == "57P01"
    assert victim.drain() == []
    if state == "waiting_backend":
        session.query("resume")
    if holder:
        holder.release()


def test_kill_ends_another_console_and_the_one_that_says_it(console):
    session, other = console(), console("alice")
    for victim, user in ((other, "alice"), (session, "admin")):
        (row,) = [
            row for row in session.query("show clients") if (row[1], row[3]) == ("console", user)
        ]
        session.send(Q(f"kill {row[0]}"))
        assert victim.until("E")[-1].fields()["C"] == "57P01"
        if victim is other:
            session.until("Z")


def test_cancel_ends_what_a_client_runs_and_nothing_else(proxy, connect, console):
    runner = connect(proxy, application_name="tight")
    runner.send(Q("select pg_sleep(600)"))
    until(lambda: proxy.running("tight") == 1, what="it runs")
    session = console()
    (victim,) = [row for row in session.query("show clients") if row[6] == "tight"]
    session.query(f"cancel {victim[0]}")
    assert [message for message in runner.until("Z") if message.kind == "E"][0].fields()[
        "C"
    ] == "57014"
    assert runner.value("select 42") == "42"


def test_pause_lets_finish_what_runs_and_resume_lets_in_who_waited(proxy, connect, console):
    holder = Holder(connect, proxy)
    session, other = console(), console()
    session.send(Q("pause"))
    until(lambda: other.query("show pools")[0][1] == "pausing", what="it waits for the holder")
    assert holder.session.value("select 42") == "42"
    holder.release()
    assert [message.kind for message in session.until("Z")] == ["C", "Z"]
    pool = other.query("show pools")[0]
    assert pool[1] == "paused" and pool[3:7] == ("0",) * 4
    waiter = connect(proxy)
    waiter.send(Q("select 'on'"))
    until(lambda: other.query("show waiters"), what="one waits for a backend")
    assert other.query("show waiters")[0][2] == "backend"
    session.query("resume")
    assert waiter.until("Z")[1].kind == "D"


def test_a_pause_that_is_cancelled_or_left_is_over(proxy, connect, console):
    holder = Holder(connect, proxy)
    other = console()

    def state():
        return other.query("show pools")[0][1]

    session = console()
    session.send(Q("pause *"))
    until(lambda: state() == "pausing", what="it waits")
    session.cancel()
    assert session.until("Z")[0].fields()["C"] == "57014"
    assert state() == "active"
    session.send(Q("pause"))
    until(lambda: state() == "pausing", what="it waits again")
    session.sock.close()
    until(lambda: state() == "active", what="who had asked for it has gone")
    holder.release()


def test_drain_ends_the_program_with_a_word_to_everybody(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    client = connect(proxy)
    session = connect(proxy, address=proxy.unix_address, user="admin", database="pgbulkhead")
    session.send(Q("drain"))
    assert [message.kind for message in session.until("Z")] == ["C", "Z"]
    for told in (session, client):
        assert told.read().fields()["C"] == "57P01"
    assert proxy.wait() == 0
