"""PostgreSQL's processes are stopped: their connections live and nothing answers. What ends the wait,
at every point of a transaction, and what is said then."""

import contextlib
import itertools
import os
import signal

import pytest

from support.messages import Q, codes
from support.points import LARGE, POINTS, in_block
from support.postgres import DATABASE
from support.waiting import until, until_none
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

numbers = itertools.count(1)
WORKING = {name: point for name, point in POINTS.items() if point.row != "free"}

# A COMMIT that was sent is waited for, whoever has lost patience.
AWAITED = ["commit", "pipelined block", "prepare transaction"]
# Nothing that was sent can end it otherwise than by a rollback: no need to ask.
ROLLED_BACK = [name for name, point in WORKING.items() if point.row == "block"]
ROLLED_BACK += ["owed Sync", "copy in"]
# Only the answer to a cancel would tell, and none came.
UNKNOWN = ["autocommit", "autocommit by batch", "copy out", "pipeline"]
CUT = ["inside a row"]


class Stopped:
    """The processes that were stopped; they go on, to their end, at the end of a test."""

    def __init__(self, server):
        self.server, self.pids = server, set()

    def stop_busy(self):
        busy = {int(row[0]) for row in self.server.busy()} - self.pids
        for pid in busy:
            os.kill(pid, signal.SIGSTOP)
        self.pids |= busy

    def end(self):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGCONT)
        until_none(lambda: self.pids & set(self.server.backend_pids()), what="they have ended")
        self.server.sql("truncate t, slow_commit")


def at_all_points(server, proxy, stopped):
    """A session at each point, whose backend is stopped as soon as it is there."""
    sessions = {}
    for name, point in WORKING.items():
        sessions[name] = Session(proxy.address, {"user": "alice", "database": DATABASE})
        point.reach(sessions[name], server, next(numbers))
        stopped.stop_busy()
    return sessions


def make_proxy(make, server, **rules):
    lane = {"name": "default", "concurrency": 22, "queue": 9, "orphan_hold": "1s", **rules}
    return make(
        server,
        {
            "databases": {"*": {"cancel_timeout": "300ms", "reset_timeout": "300ms"}},
            "workloads": [lane],
        },
    )


# ---- transaction_timeout


@pytest.fixture(scope="module")
def told(own_postgres, module_proxy):
    """What each client has heard when its transaction was overlong, and how often it was awaited."""
    proxy = make_proxy(module_proxy, own_postgres, transaction_timeout="4s")
    stopped = Stopped(own_postgres)
    try:
        sessions = at_all_points(own_postgres, proxy, stopped)
        until(lambda: proxy.running() == len(AWAITED), within=10, what="only COMMITs are awaited")
        early = {name for name in AWAITED if sessions[name].quiet(0.01)}
    finally:
        stopped.end()
    yield sessions, early
    for session in sessions.values():
        session.terminate()
    proxy.assert_clean()


@pytest.mark.parametrize("name", ROLLED_BACK)
def test_an_overlong_transaction_that_can_only_be_rolled_back_is_sent_away(told, name):
    last = told[0][name].drain()[-1].fields()
    assert (last["S"], last["C"]) == ("FATAL", "25P04")


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_overlong_statement_that_may_have_taken_effect_is_told_so(told, name):
    session, owed = told[0][name], WORKING[name].owed
    got = session.until("Z", owed)
    assert [word for word in codes(got) if len(word) == 5 or word == "Z"] == ["08007", "Z"] * owed
    assert session.value("select 42") == "42"


@pytest.mark.parametrize("name", CUT)
def test_an_overlong_result_that_stands_still_in_a_row_ends_there(told, name):
    assert len(told[0][name].raw(1 << 30)) < LARGE


@pytest.mark.parametrize("name", AWAITED)
def test_a_commit_that_was_sent_is_awaited_however_long_it_takes(told, name):
    sessions, early = told
    assert name not in early
    # Then its backend was terminated.
    got = sessions[name].until("Z", WORKING[name].owed)
    assert {word for word in codes(got) if len(word) == 5} == {"08007"} and "C" not in codes(got)
    assert sessions[name].value("select 42") == "42"


# ---- its client leaves


@pytest.mark.parametrize("way", [Session.reset_connection, Session.close], ids=["RST", "FIN"])
def test_a_client_that_leaves_a_silent_backend_leaves_an_orphan(own_postgres, new_proxy, way):
    proxy = make_proxy(new_proxy, own_postgres, cancel_after_leave="100ms", orphan_hold="700ms")
    stopped, orphans = Stopped(own_postgres), 0
    try:
        for session in at_all_points(own_postgres, proxy, stopped).values():
            way(session)
        until(lambda: proxy.metrics().gauge("orphaned") > 0, what="permits are orphans'")
        until(lambda: proxy.running() == len(AWAITED), within=10, what="only COMMITs are awaited")
        orphans = proxy.log().count("backend_orphaned")
    finally:
        stopped.end()
    assert orphans == len(WORKING) - len(AWAITED)
    proxy.assert_clean()


# ---- its client is silent, too, or asks for a cancel


def test_a_silent_holder_is_sent_away_although_nobody_answers_its_rollback(own_postgres, new_proxy):
    proxy = make_proxy(new_proxy, own_postgres, holder_idle_timeout="1s")
    stopped = Stopped(own_postgres)
    session = Session(proxy.address, {"user": "alice", "database": DATABASE})
    try:
        in_block(session, next(numbers))
        stopped.stop_busy()
        last = session.drain()[-1].fields()
        assert (last["S"], last["C"]) == ("FATAL", "25P03")
        until(lambda: proxy.metrics().gauge("orphaned") == 1, what="the permit is an orphan's")
        until_none(lambda: proxy.metrics().held(), what="its hold has passed")
    finally:
        stopped.end()
    proxy.assert_clean()


def test_a_cancel_that_a_silent_backend_does_not_hear_ends_nothing_but_itself(
    own_postgres, new_proxy
):
    proxy = make_proxy(new_proxy, own_postgres)
    stopped, n = Stopped(own_postgres), next(numbers)
    session = Session(proxy.address, {"user": "alice", "database": DATABASE})
    try:
        POINTS["autocommit"].reach(session, own_postgres, n)
        stopped.stop_busy()
        # PostgreSQL has passed it on and closed; what the process makes of it is for later.
        session.cancel()
        assert session.quiet(0.5) is None and proxy.running() == 1
        for pid in stopped.pids:
            os.kill(pid, signal.SIGCONT)
        assert codes(session.until("Z")) == ["57014", "Z"]
        assert session.value("select 42") == "42"
    finally:
        stopped.end()
    session.terminate()
    proxy.assert_clean()


# ---- idle


def test_an_idle_backend_that_is_stopped_holds_one_transaction_and_no_more(
    own_postgres, new_proxy
):
    proxy = make_proxy(new_proxy, own_postgres, transaction_timeout="500ms")
    session = Session(proxy.address, {"user": "alice", "database": DATABASE})
    pid = int(session.value("select pg_backend_pid()"))
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "08007" in codes(session.ask(Q("select 1 + 0")))
        assert int(session.value("select pg_backend_pid()")) != pid
    finally:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
    session.terminate()
    proxy.assert_clean()
