"""Every state a client can be in × every way it can go: its place, its permit and its backend come
back at once, or within keepalive and user timeout when it is lost without a word."""

import time

import pytest

from support.lanes import Holder
from support.messages import B, CopyData, E, H, P, Q, S, batch, query_batch, startup
from support.postgres import DATABASE
from support.silent import vanish
from support.waiting import PATIENCE, until
from support.wire import LEAVING, Session

pytestmark = pytest.mark.needs_proxy

GRACE = 0.2
AT_ONCE = 1.0
# Keepalive and user timeout are a second each, and the proxy looks once a second.
UNNOTICED = 6.0

INSERT = "insert into t values (1)"
SLEEP = "insert into t select 1 from pg_sleep(600)"
GIGABYTE = "select repeat('x', 1000) from generate_series(1, 1000000)"

# What is sent, and the message that is awaited then: (kind, how many of it), or a text that runs.
STATES = {
    "login": None,
    "queued": ([Q(INSERT)], None),
    "idle": ([], None),
    "in a block": ([Q("begin"), Q(INSERT)], ("Z", 2)),
    "query running": ([Q(SLEEP)], "pg_sleep"),
    "reading a gigabyte": ([Q(GIGABYTE)], ("T", 1)),
    "copy in": ([Q("copy t (a) from stdin"), CopyData("1\n")], ("G", 1)),
    "copy out": ([Q(f"copy ({GIGABYTE}) to stdout")], ("d", 1)),
    "owing a Sync": ([batch(INSERT), H], ("C", 1)),
    # Close relatives.
    "after a query": ([Q("select 1 + 0")], ("Z", 1)),
    "in a virtual block": ([Q("begin")], ("Z", 1)),
    "in a failed block": ([Q("begin"), Q("select 1/0")], ("Z", 2)),
    "reading a gigabyte by batch": ([query_batch(GIGABYTE)], ("T", 1)),
    "copy in by batch": ([batch("copy t (a) from stdin"), H, CopyData("1\n")], ("G", 1)),
    "owing a Sync after an error": ([batch("select 1/0"), H], ("E", 1)),
    "suspended portal": ([P("select generate_series(1, 9)"), B(), E(2), H], ("s", 1)),
    "with a named statement": ([P("select 1 + 0", "named"), S], ("Z", 1)),
}


def lane_of(state):
    return state.replace(" ", "-")


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    lanes = [
        {
            "name": lane_of(state),
            "match": {"application_name": lane_of(state)},
            "concurrency": 1,
            "queue": 1,
            "queue_wait": "60s",
            "cancel_after_leave": f"{int(GRACE * 1000)}ms",
        }
        for state in STATES
    ]
    lanes.append({"name": "default", "concurrency": 2, "queue": 20, "queue_wait": "10s"})
    return module_proxy(
        postgres,
        {
            "limits": {"tcp_keepalive": "1s", "tcp_user_timeout": "1s"},
            "auth": {"timeout": "2s"},
            "workloads": lanes,
        },
    )


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.empty_tables()


def reach(postgres, proxy, connect, state):
    """(the session in this state, whoever keeps it waiting)."""
    if state == "login":
        session = connect(proxy, login=False)
        session.send(startup({"user": "alice", "database": DATABASE})[:-4])
        until(lambda: logging_in(proxy) > 0, what="it is logging in")
        return session, None
    lane = lane_of(state)
    holder = Holder(connect, proxy, lane) if state == "queued" else None
    session = connect(proxy, application_name=lane)
    chunks, awaited = STATES[state]
    session.send(*chunks)
    if state == "queued":
        until(lambda: proxy.waiting(lane) == 1, what="it waits")
    elif isinstance(awaited, str):
        until(lambda: postgres.running(awaited), what="it runs")
    elif awaited:
        session.until(*awaited)
    return session, holder


def logging_in(proxy):
    return proxy.metrics().sum("pgbulkhead_startup_sessions")


def gone(proxy, state, holder):
    """Nothing of its is counted any more, and its place in the lane is free."""
    metrics, lane = proxy.metrics(), lane_of(state)
    held = 1 if holder else 0
    return (
        metrics.sum("pgbulkhead_startup_sessions") == 0
        and metrics.gauge("waiting", lane) == 0
        and metrics.gauge("running", lane) == held
    )


def check_nothing_is_left(postgres, proxy, connect):
    until(lambda: not proxy.metrics().sum("pgbulkhead_clients"), what="no client is counted")
    proxy.assert_clean(within=2)
    assert postgres.sql("select * from t") == []
    first, second = connect(proxy), connect(proxy)
    first.query("begin")
    assert first.value("select 1 + 0") == second.value("select 1 + 0") == "1"


# ---- with a word


@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.parametrize("state", STATES)
def test_a_client_that_leaves_gives_everything_back_at_once(postgres, proxy, connect, state, way):
    session, holder = reach(postgres, proxy, connect, state)
    LEAVING[way](session)
    until(lambda: gone(proxy, state, holder), AT_ONCE + GRACE, "its place is free")
    if holder:
        holder.session.terminate()
    check_nothing_is_left(postgres, proxy, connect)


# ---- without a word


@pytest.fixture(scope="module")
def lost(postgres, proxy):
    """Seconds until the place was free, by state; all clients are lost at the same time."""
    opened, seconds = {}, {}

    def connect(where, login=True, application_name=""):
        names = {"user": "alice", "database": DATABASE, "application_name": application_name}
        return Session(where.address, names if login else None)

    for state in STATES:
        opened[state] = reach(postgres, proxy, connect, state)
    start = time.monotonic()
    for session, _ in opened.values():
        vanish(session)

    def all_gone():
        for state, (_, holder) in opened.items():
            if state not in seconds and gone(proxy, state, holder):
                seconds[state] = time.monotonic() - start
        return len(seconds) == len(STATES)

    until(all_gone, UNNOTICED, "all places are free")
    for _, holder in opened.values():
        if holder:
            holder.session.terminate()
    until(lambda: not proxy.metrics().sum("pgbulkhead_clients"), what="no client is counted")
    seconds["all sockets"] = time.monotonic() - start
    yield seconds
    for session, _ in opened.values():
        session.close()


@pytest.mark.parametrize("state", STATES)
def test_a_client_that_is_lost_is_noticed(postgres, proxy, lost, connect, state):
    assert max(lost[state], lost["all sockets"]) < UNNOTICED * PATIENCE
    check_nothing_is_left(postgres, proxy, connect)
