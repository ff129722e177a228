"""Settings under fire: an INSERT never runs as somebody else or with a setting of somebody else's,
whatever happens to the round trip that sets them up."""

import random
import threading
import time

import pytest
from form import FULL
from support.messages import B, E, P, Q, S, batch
from support.postgres import DATABASE
from support.waiting import until
from support.wire import Session

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

# INSERTs whose settings could not be set up, of each kind of strike.
STRUCK = 1000 if FULL else 120
SECONDS_MAX = 300 if FULL else 45

WITNESS = """
create table if not exists witness (who text, tenant text, config text, number bigint);
grant all on witness to public;
truncate witness
"""
INSERT = (
    "insert into witness values (current_user, current_setting('fire.tenant'), "
    "current_setting('default_text_search_config'), {})"
)


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres):
    return module_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    "pool_size": 2,
                    "pool_wait": "20s",
                    "max_connecting": 2,
                }
            },
            "workloads": [{"name": "default", "concurrency": 8, "queue": 50, "queue_wait": "20s"}],
        },
    )


class Fire:
    """Clients that write who they believe to be, and strikers who make it hard to become that."""

    def __init__(self, server, proxy, kind):
        self.server, self.proxy, self.kind = server, proxy, kind
        self.struck = self.stored = 0
        self.expected = {}  # number -> (who, tenant, config), of every INSERT that was sent
        self.acknowledged = set()
        self.failure = None
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.sessions = []

    # How each client sets itself up. Numbers of clients are in all their values.
    def settings(self, i):
        texts = [f"set fire.tenant = 'tenant {i}'"]
        who, config = "alice", "pg_catalog.simple"
        if i % 2 == 0:
            who = f"fire_{i}"
            texts.append(f"set role {who}")
        if self.kind == "bad values" and i % 2 == 1:
            config = f"public.fire_config_{i}"
        texts.append(f"set default_text_search_config = '{config}'")
        if self.kind == "timeouts":
            texts.append("set statement_timeout = '1ms'")
        return texts, (who, f"tenant {i}", config)

    def client(self, i):
        dice = random.Random(i)
        try:
            session = Session(self.proxy.address, {"user": "alice", "database": DATABASE})
            self.sessions.append(session)
            texts, believes = self.settings(i)
            for text in texts:
                until(lambda text=text: self.succeeds(session, text), what=text)
            number = i * 1000000
            while not self.over.is_set():
                number += 1
                self.insert(session, dice, number, believes)
        except Exception as failure:  # The test's thread raises it.
            self.failure = self.failure or failure

    @staticmethod
    def succeeds(session, text):
        return "E" not in [msg.kind for msg in session.ask(Q(text), within=20)]

    def insert(self, session, dice, number, believes):
        text = INSERT.format(number)
        with self.lock:
            self.expected[number] = believes
        form = dice.randrange(4)
        if form == 0:
            got = session.ask(Q(text), within=20)
        elif form == 1:
            got = session.ask(batch(text), S, within=20)
        elif form == 2:
            got = session.ask(Q("begin"), Q(text), Q("commit"), ready=3, within=20)
        else:
            got = session.ask(
                P("begin"), B(), E(), P(text), B(), E(), S, Q("commit"), ready=2, within=20
            )
        codes = [msg.fields()["C"] for msg in got if msg.kind == "E"]
        with self.lock:
            if codes:
                self.struck += 1
            else:
                self.stored += 1
                self.acknowledged.add(number)
        # XX000 is PostgreSQL's word for what vanishes between two of its own looks at it.
        refusals = {"22023", "57014", "40001", "25P02", "42501", "42704", "XX000"}
        assert set(codes) <= refusals, codes

    # ---- strikes

    def strike(self, dice):
        if self.kind == "roles":
            i = 2 * dice.randrange(3)
            self.server.sql(f"drop owned by fire_{i}; drop role fire_{i}")
            self.over.wait(dice.random() / 100)
            self.make_role(i)
        elif self.kind == "bad values":
            i = 2 * dice.randrange(3) + 1
            self.server.sql(f"drop text search configuration fire_config_{i}")
            self.over.wait(dice.random() / 100)
            self.make_config(i)
        elif self.kind == "timeouts":
            # Whoever writes now, or is to, waits longer than it may.
            self.server.sql("begin; lock table witness; select pg_sleep(0.01); commit")
        elif self.kind == "cancels":
            dice.choice(self.sessions).cancel()
        self.over.wait(dice.random() / 200)

    def make_role(self, i):
        self.server.sql(f"create role fire_{i}; grant fire_{i} to alice")

    def make_config(self, i):
        self.server.sql(
            f"create text search configuration fire_config_{i} (copy = pg_catalog.simple)"
        )

    def run(self):
        self.server.sql(WITNESS)
        for i in range(6):
            self.server.sql(
                f"drop role if exists fire_{i}; "
                f"drop text search configuration if exists fire_config_{i}"
            )
            self.make_role(i)
            self.make_config(i)
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.daemon = True
            thread.start()
        dice = random.Random(99)
        until(lambda: self.failure or self.stored > 20, within=20, what="all work")
        end = time.monotonic() + SECONDS_MAX
        while self.struck < STRUCK and time.monotonic() < end and self.failure is None:
            self.strike(dice)
        self.over.set()
        for thread in threads:
            thread.join(60)
        if self.failure is not None:
            raise self.failure

    def judge(self):
        rows = self.server.sql("select number, who, tenant, config from witness")
        stored = {}
        for number, *written in rows:
            assert int(number) not in stored, "an INSERT ran twice"
            stored[int(number)] = tuple(written)
        wrong = {
            number: (written, self.expected[number])
            for number, written in stored.items()
            if written != self.expected[number]
        }
        assert not wrong, list(wrong.items())[:5]
        assert self.acknowledged <= set(stored)
        return len(stored)


@pytest.mark.parametrize("kind", ["roles", "bad values", "timeouts", "cancels"])
def test_no_row_is_written_under_another_identity_or_setting(quiet_postgres, proxy, kind):
    fire = Fire(quiet_postgres, proxy, kind)
    fire.run()
    stored = fire.judge()
    print(f"\n{kind}: {stored} rows, {fire.struck} struck")
    assert fire.struck >= STRUCK
    proxy.assert_clean(within=10)
