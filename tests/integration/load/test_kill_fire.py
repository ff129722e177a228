"""Backends are killed at random moments of random points of a transaction: each client hears a row of
the table of outcomes, an INSERT runs once or never, and a COMMIT is never claimed for nothing."""

import collections
import contextlib
import itertools
import os
import random
import signal
import threading

import pytest
from form import FULL
from support.lanes import hints
from support.messages import CopyData, CopyDone, Q, S, batch, codes, query_batch
from support.postgres import DATABASE, is_alive
from support.waiting import until
from support.wire import Closed, ServerError, Session

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

WORDS = {
    frozenset({1}): "stored",
    frozenset({0}): "not stored",
    frozenset({0, 1}): "unknown",
}
LOOPS = 500 if FULL else 20
CLIENTS = 6


@pytest.fixture(scope="module")
def proxy(module_proxy, own_postgres):
    # Else PostgreSQL itself forgets what it has acknowledged.
    own_postgres.sql("alter role alice set synchronous_commit = on")
    return module_proxy(
        own_postgres,
        {"workloads": [{"name": "default", "concurrency": 6, "queue": 20, "queue_wait": "60s"}]},
    )


def insert(n, seconds=0.0):
    return f"insert into t select {n} from pg_sleep({seconds:.4f})"


# Each returns the bytes, how many ReadyForQuery they are owed, and how many of these come before the
# transaction with the number's row. A pause makes it likely that the strike falls into it.


def autocommit(n, pause):
    return Q(insert(n, pause)), 1, 0


def autocommit_batch(n, pause):
    return query_batch(insert(n, pause)), 1, 0


def block(n, pause):
    return Q("begin") + Q(insert(n)) + Q(f"select pg_sleep({pause})") + Q("commit"), 4, 0


def block_by_batches(n, pause):
    return query_batch("begin") + query_batch(insert(n, pause)) + query_batch("commit"), 3, 0


def slow_commit(n, pause):
    slow = f"insert into slow_commit values ({int(pause * 10) + 1})"
    return Q("begin") + Q(insert(n)) + Q(slow) + Q("commit"), 4, 0


def block_before_one_sync(n, pause):
    return batch("begin") + batch(insert(n, pause)) + batch("commit") + S, 1, 0


def copy_in(n, pause):
    return Q("copy t (a) from stdin") + CopyData(f"{n}\n") + CopyDone, 1, 0


def large_rows(n, pause):
    return Q("select repeat('x', 3000000) from generate_series(1, 8)") + Q(insert(n)), 2, 1


def pipeline(n, pause):
    return query_batch(f"select pg_sleep({pause})") + query_batch(insert(n, pause)), 2, 1


FORMS = [
    autocommit,
    autocommit_batch,
    block,
    block_by_batches,
    slow_commit,
    block_before_one_sync,
    copy_in,
    large_rows,
    pipeline,
]


class Client:
    """Sends one form after the other and keeps what it was told of each."""

    def __init__(self, proxy, dice):
        self.proxy, self.dice = proxy, dice
        self.session = self.sent = None
        self.told = {}  # number -> how many times its row may be there

    def send(self, n):
        if self.session is None:
            self.session = until(self.log_in, within=20, what="a login works")
        form = self.dice.choice(FORMS)
        data, owed, before = form(n, self.dice.random() / 10)
        self.session.send(data)
        self.sent = (n, owed, before, form.__name__)

    def log_in(self):
        try:
            return Session(self.proxy.address, {"user": "alice", "database": DATABASE})
        except ServerError as refused:
            # Who comes first after all backends and sessions have gone hears PostgreSQL's own words.
            assert refused.fields["C"] in {"57P03", "57P01", "08006"}, refused
            return None

    def read(self):
        n, owed, before, _ = self.sent
        try:
            got = [self.session.until("Z", within=20) for _ in range(owed)]
        except Closed:
            # Half of a message had been passed on.
            self.session.close()
            self.session, self.told[n] = None, {0, 1}
            return
        for part in got:
            check(part)
        self.told[n] = possible(sum(got[before:], []))
        if got[-1][-1].status() != "I":
            assert self.session.ask(Q("commit"))[0].tag() == "ROLLBACK"


def check(got):
    errors = [msg.fields() for msg in got if msg.kind == "E"]
    assert got[-1].kind == "Z" and len(errors) <= 1, got
    for fields in errors:
        assert fields["S"] == "ERROR" and fields["C"] in {"40001", "08007", "25P02"}, fields
        if fields["C"] == "40001":
            assert hints(fields)["reason"] in {"backend_lost", "backend_down"}, fields


def possible(got):
    """How often the transaction may have taken effect, by what was said."""
    errors = {word for word in codes(got) if len(word) == 5}
    if not errors:
        return {1}
    return {0, 1} if "08007" in errors else {0}


def strike(server, dice):
    """The process that was struck; None while the proxy has none because it waits before it tries
    again."""
    pids = server.backend_pids()
    if not pids:
        return None
    pid = dice.choice(pids)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, dice.choice([signal.SIGKILL, signal.SIGTERM]))
    return pid


def test_backends_killed_at_random_moments_never_make_a_lie(own_postgres, proxy):
    dice, moment = random.Random(4), threading.Event()
    clients = [Client(proxy, dice) for _ in range(CLIENTS)]
    numbers, said = itertools.count(1), collections.Counter()
    struck = 0
    while struck < LOOPS:
        for client in clients:
            client.send(next(numbers))
        moment.wait(dice.random() / 10)
        pid = strike(own_postgres, dice)
        struck += pid is not None
        for client in clients:
            client.read()
            said[client.sent[3], WORDS[frozenset(client.told[client.sent[0]])]] += 1
        # Before that PostgreSQL may not know of its crash and look as if it were up.
        until(lambda gone=pid: not gone or not is_alive(gone), within=20, what="it is reaped")
        own_postgres.wait_until_up()
    rows = collections.Counter(int(a) for (a,) in own_postgres.sql("select a from t"))
    lies = {
        (n, rows[n]): told
        for client in clients
        for n, told in client.told.items()
        if rows[n] not in told
    }
    assert not lies
    for (form, what), count in sorted(said.items()):
        print(f"{form}: {what} {count}")
    for client in clients:
        if client.session:
            client.session.terminate()
    proxy.assert_clean(within=10)
    assert {what for _, what in said} == {"stored", "not stored", "unknown"}
