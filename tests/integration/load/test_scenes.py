"""Two evenings of whoever is on call: a rollout in the middle of the day, and a PostgreSQL that goes and comes back.

PGBULKHEAD_TEST_FULL=1: 300 clients and a grace of 10 s; 500 clients and an outage of 30 s.
"""

import collections
import contextlib
import selectors
import signal
import socket
import threading
import time

import pytest
from bed import QuietPostgres
from form import FULL

from support.messages import Q
from support.postgres import DATABASE
from support.waiting import PATIENCE, Stopwatch, until
from support.wire import Closed, ServerError, Session

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

ALICE = {"user": "alice", "database": DATABASE}
WORK = "select 42 from pg_sleep(0.02)"


class Client(threading.Thread):
    """Runs transactions, one after the other with a pause, until it is told to stop or its connection ends."""

    def __init__(self, proxy, application_name="busy"):
        super().__init__(daemon=True)
        self.session = Session(proxy.address, {**ALICE, "application_name": application_name})
        self.done, self.last_done = 0, 0.0
        self.refusals = []  # (SQLSTATE, seconds)
        self.farewell = []  # what came instead of an answer
        self.calm = threading.Event()

    def run(self):
        with contextlib.suppress(Closed):
            while not self.calm.wait(0.1):
                began = time.monotonic()
                got = self.session.ask(Q(WORK))
                if got[-1].kind != "Z":
                    self.farewell = got
                    return
                errors = [msg.fields()["C"] for msg in got if msg.kind == "E"]
                took = time.monotonic() - began
                self.refusals += [(code, took) for code in errors]
                if not errors:
                    self.done, self.last_done = self.done + 1, time.monotonic()


def started(clients):
    for client in clients:
        client.start()
    until(lambda: all(client.done for client in clients), 60, "each has worked")
    return clients


# ---- a rollout

GRACE = 10 if FULL else 5
BUSY, IDLE, QUEUED = (300 if FULL else 60), 20, 5


@pytest.fixture
def rollout(new_proxy, quiet_postgres):
    return new_proxy(
        quiet_postgres,
        {
            "drain": {"timeout": f"{GRACE}s"},
            "workloads": [
                {
                    "name": "narrow",
                    "match": {"application_name": "narrow"},
                    "concurrency": 1,
                    "queue": QUEUED,
                    "queue_wait": "60s",
                },
                {"name": "default", "concurrency": 20, "queue": BUSY, "queue_wait": "10s"},
            ],
        },
    )


def told(messages):
    return [(msg.fields()["S"], msg.fields()["C"]) for msg in messages if msg.kind == "E"]


def test_a_rollout_loses_no_transaction_that_fits_its_grace(rollout, quiet_postgres):
    proxy = rollout
    busy = started([Client(proxy) for _ in range(BUSY)])
    idle = [Session(proxy.address, ALICE) for _ in range(IDLE)]
    narrow = [Session(proxy.address, {**ALICE, "application_name": "narrow"}) for _ in range(1 + QUEUED)]
    narrow[0].send(Q("select pg_sleep(60)"))
    until(lambda: proxy.running("narrow") == 1, what="the long query runs")
    for session in narrow[1:]:
        session.send(Q("select 42"))
    until(lambda: proxy.waiting("narrow") == QUEUED, what="five wait behind it")

    with Stopwatch() as watch:
        proxy.signal(signal.SIGTERM)
        until(lambda: proxy.get("/readyz")[0] == 503, 1, "not ready within a second")
        assert proxy.get("/healthz")[0] == 200
        for session in narrow[1:]:
            assert told(session.drain())[0] == ("ERROR", "40001"), "who waits is told, and may go elsewhere"
        for session in idle:
            assert told(session.drain()) == [("FATAL", "57P01")]
        for client in busy:
            client.join(GRACE * PATIENCE)
            assert not client.is_alive()
        with pytest.raises((OSError, Closed, ServerError)):
            Session(proxy.address, ALICE)
        cut = told(narrow[0].drain(within=2 * GRACE))
        assert proxy.wait() == 0
    assert watch.seconds < GRACE + 1 * PATIENCE
    assert cut[-1] == ("FATAL", "57P01") and {code for _, code in cut} <= {"57014", "57P01"}
    # Every transaction ran to its end, or was refused for the drain before it began; and each client was told once.
    for client in busy:
        assert told(client.farewell)[-1] == ("FATAL", "57P01")
        assert told(client.farewell)[:-1] in ([], [("ERROR", "40001")])
        assert {code for code, _ in client.refusals} <= {"40001"}
    quiet_postgres.settle(within=10)


# ---- an outage

CROWD, OUTAGE = (500, 30) if FULL else (60, 2)
CONNECTING, POOL_WAIT_MS = 2, 500
# Service is full when it is this part of what it was before.
ENOUGH = 0.8


class Pace:
    """Transactions a second over the last `WINDOW` seconds, as long as somebody looks again and again; 0 before that."""

    WINDOW = 0.5

    def __init__(self, crowd):
        self._crowd, self._looks = crowd, collections.deque()

    def __call__(self):
        now = time.monotonic()
        self._looks.append((now, sum(client.done for client in self._crowd)))
        while len(self._looks) > 1 and now - self._looks[1][0] >= self.WINDOW:
            self._looks.popleft()
        (began, before), (_, done) = self._looks[0], self._looks[-1]
        return (done - before) / (now - began) if now - began >= self.WINDOW else 0.0


class Silence:
    """Stands in PostgreSQL's place: takes every connection, says nothing, and counts those there are at once."""

    def __init__(self, port):
        self.most = 0
        self._ready = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self._ready.register(self._listener, selectors.EVENT_READ)

    def stand(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for key, _ in self._ready.select(left):
                if key.fileobj is self._listener:
                    taken, _ = self._listener.accept()
                    self._ready.register(taken, selectors.EVENT_READ)
                elif self._has_gone(key.fileobj):
                    self._ready.unregister(key.fileobj)
                    key.fileobj.close()
            # The listener is one of them.
            self.most = max(self.most, len(self._ready.get_map()) - 1)

    @staticmethod
    def _has_gone(sock):
        try:
            return not sock.recv(4096)
        except OSError:
            return True

    def close(self):
        for key in list(self._ready.get_map().values()):
            key.fileobj.close()
        self._ready.close()


@pytest.fixture
def mortal_postgres():
    server = QuietPostgres()
    yield server
    server.remove()


def silence(server, seconds):
    with contextlib.closing(Silence(server.port)) as stand_in:
        stand_in.stand(seconds)
        return stand_in.most


def test_an_outage_is_told_quickly_and_ends_by_itself(new_proxy, mortal_postgres):
    proxy = new_proxy(
        mortal_postgres,
        {
            "databases": {
                "*": {
                    "pool_wait": f"{POOL_WAIT_MS}ms",
                    "connect_timeout": "1s",
                    "max_connecting": CONNECTING,
                }
            }
        },
    )
    crowd = started([Client(proxy) for _ in range(CROWD)])
    before = until(Pace(crowd), what="they work")
    mortal_postgres.stop()
    until(lambda: proxy.get("/readyz")[0] == 503, what="not ready")
    most = silence(mortal_postgres, OUTAGE)
    assert proxy.get("/healthz")[0] == 200
    assert proxy.get("/readyz")[0] == 503
    mortal_postgres.start()
    back = time.monotonic()
    pace = Pace(crowd)
    until(lambda: pace() >= ENOUGH * before, 2, "full service within 2 s of its return")
    print(f"\nfull service after {time.monotonic() - back:.2f} s, with {before:.0f} a second; {most} connects at once")
    until(lambda: all(client.last_done > back for client in crowd), 20, "and everybody had some of it")
    until(lambda: proxy.get("/readyz")[0] == 200, what="ready again")
    for client in crowd:
        client.calm.set()
    for client in crowd:
        client.join(10 * PATIENCE)
        assert not client.is_alive() and client.farewell == [], "no connection was lost"
        client.session.terminate()
    assert 1 <= most <= CONNECTING
    refusals = [refusal for client in crowd for refusal in client.refusals]
    # 40001: refused before it began; the 08 and 57 are what was lost with its backend.
    print(f"{len(refusals)} refusals, the slowest in {max(took for _, took in refusals):.2f} s")
    assert {code for code, _ in refusals} <= {"40001", "08006", "08007", "57P01", "57P02", "57P03"}
    assert max(took for _, took in refusals) < (POOL_WAIT_MS / 1000 + 1) * PATIENCE
    proxy.assert_clean()
