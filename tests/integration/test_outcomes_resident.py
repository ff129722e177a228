"""`pooling: session`: the loss of its backend at any point of a transaction ends a session with one
FATAL, as it would end a direct connection, and what that says is true."""

import itertools

import pytest

from support.messages import codes
from support.points import LARGE, POINTS, STRIKES
from support.postgres import DATABASE
from support.waiting import until
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy

numbers = itertools.count(1)

# PostgreSQL's own last word, or the proxy's for a server that had none, says no more than that the
# session has ended. Once a COMMIT was sent that would not be enough.
COMMITTING = {"commit", "pipelined block", "prepare transaction"}


@pytest.fixture(scope="module")
def proxy(module_proxy, own_postgres):
    own_postgres.sql("alter role alice set synchronous_commit = on")
    lane = {"name": "default", "pooling": "session", "concurrency": 22}
    return module_proxy(own_postgres, {"workloads": [lane]})


@pytest.fixture(scope="module", params=STRIKES)
def struck(request, own_postgres, proxy):
    """(the way, {point: (session, number)}) after all backends were lost."""
    sessions = {}
    try:
        for name, point in POINTS.items():
            session = Session(proxy.address, {"user": "alice", "database": DATABASE})
            sessions[name] = session, next(numbers)
            point.reach(session, own_postgres, sessions[name][1])
        STRIKES[request.param](own_postgres)
        yield request.param, sessions
    finally:
        for session, _ in sessions.values():
            session.terminate()
    proxy.assert_clean(within=10)
    own_postgres.sql("truncate t, slow_commit")


@pytest.fixture(autouse=True)
def clean():
    """All points of a strike share their proxy; it is looked at when the last is done."""


def expected(way, name):
    """The SQLSTATEs that are true."""
    if name in COMMITTING:
        return {"08007"}
    if POINTS[name].row == "unknown" and way in ("SIGKILL", "restart -m immediate"):
        # Of a batch without its Sync it is known that nothing of it stays.
        return {"57P01"} if name == "owed Sync" else {"08007"}
    return {"57P01"}


@pytest.mark.parametrize("name", POINTS)
def test_the_session_ends_with_the_truth(struck, own_postgres, name):
    way, sessions = struck
    session, n = sessions[name]
    if POINTS[name].row == "cut":
        assert len(session.raw(1 << 30)) < LARGE
    else:
        got = session.drain()
        (last,) = [msg.fields() for msg in got if msg.kind == "E"]
        assert (last["S"], last["V"], got[-1].kind) == ("FATAL", "FATAL", "E")
        assert {last["C"]} == expected(way, name), got
        tags = [msg.tag() for msg in got if msg.kind == "C"]
        assert not {"COMMIT", "PREPARE TRANSACTION"} & set(tags)
    stored = own_postgres.count(f"select count(*) from t where a = {n}")
    assert stored == POINTS[name].stored


def test_the_next_login_works(struck, proxy):
    def works():
        try:
            session = Session(proxy.address, {"user": "alice", "database": DATABASE})
        except ServerError as refused:
            assert refused.fields["C"][:2] in ("57", "08"), refused
            return False
        value = session.value("select 42")
        session.terminate()
        return value == "42"

    until(works, within=10, what="a login works")
