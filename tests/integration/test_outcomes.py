"""Every backend is lost at once, each client at another point of its transaction: each is told
exactly what is known of the outcome, nothing of it runs twice or alone, and all work goes on."""

import itertools

import pytest

from support.lanes import check_lost, hints
from support.messages import Q, S, batch, codes, only_error, shape
from support.points import LARGE, POINTS, STRIKES, in_block, insert
from support.postgres import DATABASE
from support.waiting import until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy


# A server that has just come back may be taken for one that is still away.
AWAY = {"backend_down", "backend_lost", "pool_timeout"}
numbers = itertools.count(1)


class Scene:
    """A client at each point, and then the strike."""

    def __init__(self, server, proxy, strike):
        self.server, self.proxy = server, proxy
        self.numbers, self.sessions = {}, {}
        for name, point in POINTS.items():
            session, n = self.place(name)
            point.reach(session, server, n)
        self.holder, _ = self.place("holder", "narrow")
        in_block(self.holder, self.numbers["holder"])
        waiter, n = self.place("waiter", "narrow")
        waiter.send(Q(insert(n)))
        until(lambda: proxy.waiting("narrow") == 1, what="it waits for a permit")
        strike(server)

    def place(self, name, application_name=""):
        self.numbers[name] = next(numbers)
        params = {"user": "alice", "database": DATABASE, "application_name": application_name}
        self.sessions[name] = Session(self.proxy.address, params)
        return self.sessions[name], self.numbers[name]

    def end(self):
        for session in self.sessions.values():
            session.terminate()
        self.server.sql("truncate t, slow_commit")


@pytest.fixture(scope="module")
def proxy(module_proxy, own_postgres):
    # Else PostgreSQL itself forgets what it has acknowledged.
    own_postgres.sql("alter role alice set synchronous_commit = on")
    return module_proxy(
        own_postgres,
        {
            "workloads": [
                {
                    "name": "narrow",
                    "match": {"application_name": "narrow"},
                    "concurrency": 1,
                    "queue": 1,
                    "queue_wait": "60s",
                },
                {"name": "default", "concurrency": 22, "queue": 9, "queue_wait": "10s"},
            ]
        },
    )


@pytest.fixture(scope="module", params=STRIKES)
def scene(request, own_postgres, proxy):
    made = Scene(own_postgres, proxy, STRIKES[request.param])
    yield made
    made.end()
    proxy.assert_clean(within=10)


@pytest.fixture(autouse=True)
def clean():
    """All points of a scene share their proxy; it is looked at when the scene ends."""


# ---- what each must hear


def works(session):
    """The next transaction succeeds, at the latest when the proxy has found the server back."""

    def done():
        got = session.ask(Q("select 42"))
        if shape(got).endswith("TDCZI"):
            return True
        fields = only_error(got)
        assert fields["C"] == "40001" and hints(fields)["reason"] in AWAY, fields
        return False

    until(done, within=10, what="work goes on")


def check_free(session, point, n):
    assert session.quiet(0.01) is None
    if session.ask(S)[-1].status() != "I":
        got = session.ask(Q("select 1 + 0"))
        if "E" in codes(got):
            assert hints(only_error(got))["reason"] in AWAY
        session.query("rollback")


def check_block(session, point, n):
    if point.owed == 0:
        session.send(Q(insert(n)))
    got = session.until("Z")
    check_lost(only_error(got))
    assert shape(got)[-2:] == "ZE" and "C" not in codes(got)
    assert only_error(session.ask(Q(insert(n))))["C"] == "25P02"
    got = session.ask(Q("commit"))
    assert shape(got) == "CZI" and got[0].tag() == "ROLLBACK"


def check_unknown(session, point, n):
    if point.owed == 0:
        assert only_error(session.until("E"))["C"] == "08007"
        session.send(batch(insert(n)))
        assert shape(session.ask(S)) == "ZI"
        return
    got = session.until("Z", point.owed)
    said = [word for word in codes(got) if word in "EZC" or len(word) == 5]
    assert said == ["08007", "Z"] * point.owed, got
    assert {msg.status() for msg in got if msg.kind == "Z"} == {"I"}
    assert {msg.fields()["S"] for msg in got if msg.kind == "E"} == {"ERROR"}


def check_cut(session, point, n):
    assert len(session.raw(1 << 30)) < LARGE


CHECKS = {"free": check_free, "block": check_block, "unknown": check_unknown, "cut": check_cut}


@pytest.mark.parametrize("name", POINTS)
def test_the_client_is_told_what_is_known(scene, name):
    point, session, n = POINTS[name], scene.sessions[name], scene.numbers[name]
    CHECKS[point.row](session, point, n)
    if point.row != "cut":
        works(session)
    stored = scene.server.count(f"select count(*) from t where a = {n}")
    prepared = scene.server.count("select count(*) from pg_prepared_xacts")
    assert (stored, prepared) == (point.stored, 0)


def test_who_waited_for_a_permit_runs_once_or_is_refused(scene):
    """The permit comes back with the loss of its holder's backend."""
    got = scene.sessions["waiter"].until("Z", within=15)
    if "E" in codes(got):
        assert only_error(got)["C"] == "40001"
    rows = scene.server.count(f"select count(*) from t where a = {scene.numbers['waiter']}")
    assert (rows, shape(got)) in ((1, "CZI"), (0, "EZI"))
    works(scene.sessions["waiter"])
    scene.holder.send(Q("select 1 + 0"))
    check_lost(only_error(scene.holder.until("Z")))
    scene.holder.query("rollback")
    assert scene.server.sql(f"select a from t where a = {scene.numbers['holder']}") == []
