"""One backend, a client that cancels at random moments, and another that must never notice; the
cancels are late, and TLS or not. `PGBULKHEAD_TEST_FULL=1`: a minute each."""

import os
import random
import time

import pytest

from support.certificates import Authority
from support.messages import Q, codes, query_batch
from support.postgres import DATABASE
from support.relay import Relay
from support.rival import Rival
from support.waiting import PATIENCE
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
ROUNDS_MIN = 25
FULL_SECONDS, PATIENT_SECONDS = 60, 20

KINDS = {
    "simple": {"pool": 1},
    "pipelined": {"pool": 1},
    # Each has a backend of its own here, but the cancels are real.
    "session": {"pool": 2, "pooling": "session"},
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca")).issue("localhost")


def proxy_behind(new_proxy, postgres, relay, tls, kind):
    facts = KINDS[kind]
    conninfo = f"host=127.0.0.1 port={relay.address.port} sslmode={'require' if tls else 'disable'}"
    workload = {"name": "default", "concurrency": 4, "queue": 9, "queue_wait": "20s"}
    if "pooling" in facts:
        workload["pooling"] = facts["pooling"]
    entry = {"conninfo": conninfo, "pool_size": facts["pool"], "pool_wait": "20s"}
    return new_proxy(postgres, {"databases": {"*": entry}, "workloads": [workload]})


class Canceller:
    """Runs statements of which it cancels each once, and checks every answer."""

    def __init__(self, address, kind, delay):
        self._session = Session(address, {"user": "alice", "database": DATABASE})
        self._rng = random.Random(7)
        self._pipelined = kind == "pipelined"
        self._delay = delay
        self.rounds = 0
        self.struck = 0

    def round(self):
        self.rounds += 1
        # Now and then one that no slow machine misses, and one that comes when all is over.
        seconds = self._delay + (0.1 if self.rounds % 10 == 0 else 0.005)
        comes_after = self.rounds % 10 == 5
        texts = [f"select 'a{self.rounds}.{i}' from pg_sleep({seconds})" for i in range(3)]
        if self._pipelined:
            data, count = b"".join(map(query_batch, texts)), len(texts)
        else:
            data, count = Q(texts[0]), 1
        self._session.send(data)
        got = self._session.until("Z", count, within=20) if comes_after else None
        time.sleep(self._rng.random() * 0.01)  # lint: a random moment
        assert self._session.cancel(within=20) == b""
        self._check(got or self._session.until("Z", count, within=20), count)

    def _check(self, got, count):
        struck = 0
        for i in range(count):
            at = next(at for at, msg in enumerate(got) if msg.kind == "Z")
            answer, got = got[: at + 1], got[at + 1 :]
            assert answer[-1].status() == "I"
            if "57014" in codes(answer):
                struck += 1
                continue
            assert [msg.row() for msg in answer if msg.kind == "D"] == [(f"a{self.rounds}.{i}",)]
        # PostgreSQL signals the process and then its group, that is twice: in a pipeline the second
        # may find the next statement. Directly half of all cancels strike two.
        assert not got and struck <= (2 if self._pipelined else 1)
        self.struck += struck > 0

    def is_done(self, started):
        seconds = time.monotonic() - started
        if FULL:
            return seconds > FULL_SECONDS
        # Both outcomes, or as much time as a slow machine may want.
        enough = self.rounds >= ROUNDS_MIN and 0 < self.struck < self.rounds
        return enough or seconds > PATIENT_SECONDS * PATIENCE

    def run(self):
        started = time.monotonic()
        while not self.is_done(started):
            self.round()
        self._session.terminate()


CASES = [("simple", tls, delay) for tls in (False, True) for delay in (0.0, 0.005, 0.05)]
CASES += [(kind, tls, 0.005) for kind in ("pipelined", "session") for tls in (False, True)]


@pytest.mark.parametrize(
    "kind, tls, delay",
    CASES,
    ids=[f"{kind}, {'tls' if tls else 'plain'}, {delay * 1000:g} ms" for kind, tls, delay in CASES],
)
def test_a_late_cancel_strikes_its_own_statement_or_none(
    postgres, new_proxy, certificate, kind, tls, delay
):
    with Relay(postgres.address, certificate if tls else None, delay) as relay:
        proxy = proxy_behind(new_proxy, postgres, relay, tls, kind)
        canceller = Canceller(proxy.address, kind, delay)
        with Rival(proxy.address, "select 'b' from pg_sleep(0.002) /* rival */") as rival:
            canceller.run()
        print(
            f"{kind} tls={tls} {delay * 1000:g} ms: {canceller.rounds} cancels,"
            f" {canceller.struck} struck, {relay.cancels} reached the server; rival {rival.rounds}"
        )
        assert 0 < canceller.struck < canceller.rounds
        assert rival.rounds > 0
        assert proxy.metrics().sum("pgbulkhead_backend_cancels_failed_total") == 0
        proxy.assert_clean()
        proxy.stop()
