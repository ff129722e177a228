"""Reloads of generated files while many clients work: nobody loses a transaction or a connection, and
after each good file what is in force is what it says; after each bad one, what was."""

import json
import os
import random
import shutil
import signal
import ssl

import pytest

from support.reloads import attempts, put
from support.tls import TlsAddress, client_context, door
from support.waiting import until
from support.wire import Session
from support.workers import Worker, at_work

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
CLIENTS, RELOADS = (200, 1000) if FULL else (24, 60)
# One number is one run.
SEED = int(os.environ.get("PGBULKHEAD_TEST_SEED", "7"))
NAMES = ("reports", "batch", "web")


class Client(Worker):
    """Blocks and single statements in a row on one connection."""

    def turn(self):
        number = str(self.done)
        if self.done % 3 == 0:
            self.session.query("begin", within=60)
        assert self.session.value(f"select {number} + 0", within=60) == number
        if self.done % 3 == 0:
            self.session.query("commit", within=60)


class Files:
    """What stands in the file, one reload after the other."""

    def __init__(self, proxy, identities, shown):
        self.random = random.Random(SEED)
        self.proxy, self.identities, self.shown = proxy, identities, shown
        self.kinds = {
            "the same": lambda: None,
            "there and back": self.there_and_back,
            "up": lambda: self.limits(20, 40),
            "down below what runs": lambda: self.limits(1, 1),
            "another mode": self.another_mode,
            "a workload more": self.add,
            "a workload less": self.remove,
            "another pool": self.pool,
            "another certificate": self.certificate,
            "broken": lambda: "workloads: [",
            "truncated": lambda: self.text()[: self.random.randrange(1, len(self.text()) - 2)],
            "a key twice": lambda: self.text()[:-1] + ', "log": {}, "log": {}}',
            "an unknown key": lambda: self.text()[:-1] + ', "queu": 1}',
            "changed past the file": self.past_the_file,
        }

    def plan(self):
        """Every kind equally often, in any order."""
        kinds = list(self.kinds) * (RELOADS // len(self.kinds) + 1)
        self.random.shuffle(kinds)
        return kinds[:RELOADS]

    def text(self):
        return json.dumps(self.proxy.budgets)

    @property
    def workloads(self):
        return self.proxy.budgets["workloads"]

    def limits(self, low, high):
        for workload in self.workloads:
            workload["concurrency"] = self.random.randint(low, high)

    def there_and_back(self):
        before = self.text()
        self.limits(2, 9)
        load(self.proxy, self.text())
        check(self.proxy)
        self.proxy.budgets = json.loads(before)

    def another_mode(self):
        self.random.choice(self.workloads)["mode"] = self.random.choice(["enforce", "shadow", "off"])

    def add(self):
        names = {workload["name"] for workload in self.workloads}
        missing = [name for name in NAMES if name not in names]
        if missing:
            match = {"application_name": missing[0]}
            self.workloads.insert(0, {**lane(missing[0], 3), "match": match})

    def remove(self):
        if len(self.workloads) > 1:
            del self.workloads[self.random.randrange(len(self.workloads) - 1)]

    def pool(self):
        self.proxy.budgets["databases"]["*"]["pool_size"] = self.random.randint(2, 12)

    def certificate(self):
        self.identities.reverse()
        for path, source in zip(self.shown, self.identities[0]):
            beside = path.with_suffix(".new")
            shutil.copy(source, beside)
            os.replace(beside, path)

    def past_the_file(self):
        """Until the file is loaded; a signal of the load before may still be under way."""
        console = Session(self.proxy.unix_address, {"user": "admin", "database": "pgbulkhead"})
        console.query("set workload default concurrency = 17, queue = 500, mode = enforce")
        console.terminate()


def lane(name, concurrency):
    return {"name": name, "concurrency": concurrency, "queue": CLIENTS, "queue_wait": "60s"}


def load(proxy, text):
    """The text is in the file, and has been loaded or refused: by one signal, or by two at once."""
    put(proxy, text)
    before = attempts(proxy)
    proxy.signal(signal.SIGHUP)
    proxy.signal(signal.SIGHUP)
    until(lambda: attempts(proxy) > before, within=20, what="the file was loaded")


def is_in_force(proxy):
    metrics = proxy.metrics()
    return all(
        metrics.gauge("configured", each["name"]) == 1
        and metrics.gauge("concurrency_limit", each["name"]) == each["concurrency"]
        and metrics.gauge("queue_limit", each["name"]) == each["queue"]
        for each in proxy.budgets["workloads"]
    )


def check(proxy):
    """A load that the signal came too early for may still be under way: the file's watch sees to it."""
    until(lambda: is_in_force(proxy), within=20, what="what the file says is in force")


def test_generated_reloads_under_load_cost_nobody_anything(
    postgres, new_proxy, authority, tmp_path
):
    identities, shown = [], (tmp_path / "tls.crt", tmp_path / "tls.key")
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        identities.append([shutil.copy(path, folder) for path in authority.issue("localhost")])
    for path, source in zip(shown, identities[0]):
        shutil.copy(source, path)
    proxy = new_proxy(
        postgres,
        {"workloads": [lane("default", 8)], "databases": {"*": {"pool_wait": "60s"}}},
        tls={**door(shown), "mode": "allow"},
    )
    encrypted = TlsAddress(proxy.address, client_context(authority.root))
    clients = [Client((proxy.address, encrypted)[i % 2], NAMES[i % len(NAMES)]) for i in range(CLIENTS)]
    files = Files(proxy, identities, shown)
    with at_work(clients):
        for kind in files.plan():
            bad = files.kinds[kind]()
            load(proxy, bad or files.text())
            # After a bad one what was in force still is.
            check(proxy)
            assert proxy.metrics().sum("pgbulkhead_config_last_reload_successful") == (not bad), kind
        put(proxy, files.text())
        before = [client.done for client in clients]
        until(
            lambda: all(client.done > done for client, done in zip(clients, before)),
            within=60,
            what="everybody goes on",
        )
        newest = encrypted.connect()
        seen = ssl.DER_cert_to_PEM_cert(newest.tls.getpeercert(binary_form=True))
        newest.close()
        assert seen.strip() in shown[0].read_text()
    assert proxy.metrics().sum("pgbulkhead_config_live_changes") == 0
    proxy.assert_clean()
