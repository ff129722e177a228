"""Storms of logins that come to nothing: they leave nothing behind, and what runs meanwhile hardly notices.

PGBULKHEAD_TEST_FULL=1: 100,000 of each.
"""

import os
import random
import statistics
import threading
import time

import pytest
from bed import p99_of_naps
from form import FULL

from support.storms import fail_handshakes, fail_scram, strike
from support.tls import door
from support.waiting import PATIENCE, until

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

COUNT = 100_000 if FULL else 2_000
WARM = 400
SECONDS = 10 if FULL else 2
WORK_MS = 10
# What a running query may take at the 99th percentile beside a storm, in parts of what it takes without: measured on a
# machine that does nothing else; the short form runs on those that do. The bounds of buckets are printed with three decimals.
LONGEST, ROUNDED_MS = (2 if FULL else 4), 0.01
# A machine that stalls while it measures has measured itself: the best of so many is judged.
ATTEMPTS = 3
KNOWN, UNKNOWN = "alice", "nobody_there"
PROBES, ALIKE = 300, 1.3


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres, identity, tmp_path_factory):
    users = tmp_path_factory.mktemp("users") / "users.txt"
    users.write_text(f'"{KNOWN}" "told to nobody"\n')
    return module_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {"conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}"}
            },
            "auth": {"timeout": "2s"},
            # Each of a storm would be a line.
            "log": {"level": "error"},
        },
        door_auth={"method": "scram-sha-256", "users_file": str(users)},
        tls=door(identity, "allow"),
    )


def startups(proxy, _authority, count):
    dice = random.Random(count)
    for _ in range(count):
        strike(("127.0.0.1", proxy.port), dice)


def handshakes(proxy, authority, count):
    fail_handshakes(proxy.address, authority.root, count)


def proofs(proxy, _authority, count):
    for i in range(count):
        assert fail_scram(proxy.address, UNKNOWN if i % 2 else KNOWN) == "28P01"


def queries(proxy):
    return p99_of_naps(proxy.unix_address, WORK_MS, SECONDS)


class Storm(threading.Thread):
    """Blows again and again until it has had `COUNT` attempts and nobody looks any more."""

    def __init__(self, blow, proxy, authority):
        super().__init__(daemon=True)
        self.attempts, self.error = 0, None
        self._call = lambda count: blow(proxy, authority, count)
        self._calm = threading.Event()

    def run(self):
        try:
            while self.attempts < COUNT or not self._calm.is_set():
                self._call(100)
                self.attempts += 100
        except BaseException as error:  # told by end()
            self.error = error

    def end(self):
        self._calm.set()
        self.join(3600 * PATIENCE)
        assert self.error is None, self.error
        assert self.attempts >= COUNT


def settled(proxy):
    until(lambda: proxy.metrics().sum("pgbulkhead_startup_sessions") == 0, what="all have gone")
    return proxy.resources()


@pytest.mark.parametrize("blow", [startups, handshakes, proofs])
def test_a_storm_leaves_nothing_behind_and_slows_nobody_down(proxy, authority, blow):
    blow(proxy, authority, WARM)
    queries(proxy)
    files, memory = settled(proxy)
    for _ in range(ATTEMPTS):
        alone = queries(proxy)
        storm = Storm(blow, proxy, authority)
        storm.start()
        beside = queries(proxy)
        storm.end()
        if beside <= LONGEST * alone + ROUNDED_MS:
            break
    files_after, memory_after = settled(proxy)
    print(
        f"\n{storm.attempts} {blow.__name__}: p99 {alone:.1f} ms alone, {beside:.1f} ms beside them; "
        f"{memory_after - memory} KiB more, {files_after - files} files"
    )
    assert beside <= LONGEST * alone + ROUNDED_MS
    assert files_after <= files + 4
    if not os.environ.get("PGBULKHEAD_TEST_NO_RSS"):
        assert memory_after - memory < 4096
    proxy.assert_clean()


def test_a_wrong_password_takes_as_long_as_a_user_that_is_not_there(proxy):
    """Taken in turn, so that what the machine does meanwhile strikes both."""
    took = {KNOWN: [], UNKNOWN: []}
    for i in range(2 * PROBES):
        user = UNKNOWN if i % 2 else KNOWN
        start = time.perf_counter()
        fail_scram(proxy.address, user)
        took[user].append(time.perf_counter() - start)
    known, unknown = (1000 * statistics.median(took[user]) for user in (KNOWN, UNKNOWN))
    print(f"\nmedian of {PROBES}: {known:.3f} ms wrong password, {unknown:.3f} ms unknown user")
    assert 1 / ALIKE <= known / unknown <= ALIKE
