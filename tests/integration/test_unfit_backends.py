"""A backend that cannot be cleaned, that ends while it is idle, or that speaks unasked is never lent,
and nobody hears of it."""

import signal

import pytest

from support import server_version
from support.meddler import NOTICE, NOTIFICATION, READY, Meddler, error
from support.messages import B, E, H, P, Q, codes, shape
from support.waiting import until, until_none

pytestmark = pytest.mark.needs_proxy


@pytest.fixture
def meddler(postgres):
    made = Meddler(postgres.address)
    yield made
    made.close()


@pytest.fixture
def proxy(new_proxy, postgres, meddler):
    """One permit, so that whoever comes next waits until the backend is clean or given up."""
    postgres.settle()
    postgres.empty_tables()
    return new_proxy(
        postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host=127.0.0.1 port={meddler.port}",
                    "reset_timeout": "300ms",
                    "pool_size": 2,
                }
            },
            "workloads": [
                {
                    "name": "default",
                    "concurrency": 1,
                    "queue": 9,
                    "queue_wait": "20s",
                    "orphan_hold": "500ms",
                }
            ],
        },
    )


def pid_of(session):
    return int(session.value("select pg_backend_pid()"))


# ---- cleaning fails

BAD_ANSWERS = {
    "an error": error("ERROR", "25001") + READY,
    "silence": b"",
    "a FATAL": error("FATAL", "57P01"),
}
bad = pytest.mark.parametrize("answer", BAD_ANSWERS)


def check_given_up(postgres, proxy, meddler, connect, text, pid):
    """The next one is served, elsewhere, and the backend is no more."""
    follower = connect(proxy)
    assert follower.value("select coalesce(current_setting('dirt.trace', true), '')") == ""
    assert meddler.kept[:1] == [text]
    meddler.answers.clear()
    assert pid_of(follower) != pid
    until(lambda: pid not in postgres.backend_pids(), what="the backend has gone")
    follower.terminate()
    until_none(lambda: proxy.metrics().held(), what="the permit is back")


@bad
def test_a_backend_whose_reset_fails_is_closed(postgres, proxy, meddler, connect, answer):
    session = connect(proxy)
    pid = pid_of(session)
    meddler.answers["DISCARD ALL"] = BAD_ANSWERS[answer]
    got = session.ask(Q("do $$ begin perform set_config('dirt.trace', '1', false); end $$"))
    assert codes(got) == ["C", "Z"]
    check_given_up(postgres, proxy, meddler, connect, "DISCARD ALL", pid)


@bad
@pytest.mark.parametrize("state", ["in a block", "in a failed block", "with a suspended portal"])
def test_a_backend_that_cannot_be_rolled_back_is_closed(
    postgres, proxy, meddler, connect, state, answer
):
    session = connect(proxy)
    pid = pid_of(session)
    meddler.answers["ROLLBACK"] = BAD_ANSWERS[answer]
    session.query("begin")
    session.query("insert into t values (1)")
    leave(session, state)
    check_given_up(postgres, proxy, meddler, connect, "ROLLBACK", pid)
    assert postgres.sql("select * from t") == []


def leave(session, state):
    session.query("set dirt.trace = '1'")
    if state == "in a failed block":
        session.ask(Q("select 1/0"))
    elif state == "with a suspended portal":
        session.send(P("select generate_series(1, 9)"), B(), E(2), H)
        session.until("s")
    session.die()


@pytest.mark.parametrize("state", ["in a block", "in a failed block", "with a suspended portal"])
def test_a_block_is_rolled_back_before_anything_is_reset(postgres, proxy, connect, state):
    """DISCARD ALL in an open block is an error, and so is one behind a ROLLBACK of the same text."""
    session = connect(proxy)
    pid, start = pid_of(session), postgres.log_end()
    session.query("begin")
    session.query("do $$ begin perform set_config('dirt.trace', '1', false); end $$")
    leave(session, state)
    follower = connect(proxy)
    assert follower.value("select coalesce(current_setting('dirt.trace', true), '')") == ""
    if pid_of(follower) != pid:
        return
    with open(postgres.log, "rb") as log:
        log.seek(start)
        said = log.read()
    assert 0 < said.index(b"statement: ROLLBACK") < said.index(b"statement: DISCARD ALL")
    assert b" 25001 " not in said


def test_a_fatal_is_no_proof_that_the_work_has_ended(postgres, proxy, meddler, connect):
    """PostgreSQL says it before it rolls back; its end of the connection tells that it has."""
    session = connect(proxy)
    session.send(Q("select pg_sleep(600) /* goes on */"))
    until(lambda: postgres.running("/* goes on */"), what="the statement runs")
    meddler.say(error("FATAL", "57P01"))
    got = session.until("Z")
    assert codes(got) == ["08007", "Z"] and proxy.running() == 1
    until(lambda: proxy.metrics().gauge("orphaned") == 1, what="the permit is an orphan's")
    postgres.end_backends("/* goes on */")
    until_none(lambda: proxy.metrics().held(), what="the permit is back")


# ---- idle ones


@pytest.mark.parametrize(
    "said, stays",
    [
        (NOTICE, True),
        (READY, False),
        (NOTIFICATION, False),
        (error("FATAL", "57P01"), False),
        (error("ERROR", "XX000"), False),
        (NOTICE + READY, False),
        (b"\0" * 7, False),
    ],
    ids=["notice", "ready", "notification", "fatal", "error", "notice and ready", "nonsense"],
)
def test_what_an_idle_backend_says_is_nobodys_news(proxy, meddler, connect, said, stays):
    session = connect(proxy)
    pid = pid_of(session)
    meddler.say(said)
    got = session.ask(Q("select pg_backend_pid()"))
    assert shape(got) == "TDCZI"
    if stays:
        assert int(got[1].row()[0]) == pid


IDLE, CLIENTS = 20, 200


@pytest.fixture(scope="module")
def pool(module_proxy, own_postgres):
    lane = {"name": "default", "concurrency": IDLE, "queue": CLIENTS, "queue_wait": "60s"}
    database = {"pool_size": IDLE + 1, "pool_wait": "20s", "max_connecting": 8}
    return module_proxy(own_postgres, {"databases": {"*": database}, "workloads": [lane]})


def terminate(server):
    server.end_backends()


def time_out(server):
    """The timeout is in force for those that began to be idle under it."""


ENDS = {
    "terminated": terminate,
    "timed out": time_out,
    "restarted": lambda server: server.restart(signal.SIGINT),
    "crashed": lambda server: server.kill_backends(),
}


def set_timeout(server, text):
    server.sql("set idle_session_timeout = 0")
    server.sql(f"alter system set idle_session_timeout = '{text}'")
    # A process that hears of it in the middle of a statement becomes idle with the old one.
    server.reload()


def warm_up(server, sessions):
    """As many backends as the pool may have."""
    for session in sessions[:IDLE]:
        session.send(Q("select pg_sleep(600) /* warm */"))
    until(lambda: server.running("/* warm */") == IDLE, what="all backends work")
    # The one of housekeeping may have been idle all the time.
    cancelled = "select pid, pg_cancel_backend(pid) from pg_stat_activity where query like 'select pg_sleep%/* warm */'"
    before = {int(pid) for pid, _ in server.sql(cancelled)}
    for session in sessions[:IDLE]:
        session.until("Z")
    return before


@pytest.mark.parametrize("end", ENDS)
def test_that_all_idle_backends_end_is_nobodys_news(own_postgres, pool, connect, end):
    if end == "timed out":
        if server_version.WANTED == "13":
            pytest.skip("idle_session_timeout came with PostgreSQL 14")
        set_timeout(own_postgres, "300ms")
        # One that nobody needs stays idle without it, and some may just be coming.
        until(
            lambda: not own_postgres.end_backends() and not own_postgres.backends(),
            what="all that come know it",
        )
    sessions = [connect(pool) for _ in range(CLIENTS)]
    before = warm_up(own_postgres, sessions)
    ENDS[end](own_postgres)
    until(lambda: not before & set(own_postgres.backend_pids()), what="all have ended")
    if end == "timed out":
        set_timeout(own_postgres, "0")
        until(lambda: not own_postgres.backends(), what="no one has the timeout")
    for i, session in enumerate(sessions):
        assert session.quiet(0) is None
        session.send(Q(f"select {i}"))
    for i, session in enumerate(sessions):
        got = session.until("Z", within=20)
        assert (shape(got), got[1].row()) == ("TDCZI", (str(i),))
    assert pool.metrics().sum("pgbulkhead_database_reachable") == 1
    assert pool.get("/readyz")[0] == 200
