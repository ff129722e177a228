"""What an idle client costs: resident memory beyond that of a proxy without clients. A session that does
nothing has no machine of its own (proxy/session/session_slot.h)."""

import os
import pathlib
import re
import resource

import pytest
from bed import postgres_module

from form import FULL
from support.messages import Q, startup
from support.waiting import PATIENCE, until

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

CLIENTS = 5000 if FULL else 1500
# The goal of 5,000; fewer share the steps in which tables and the heap grow.
BYTES_MAX = 1024 if FULL else 1280
ALICE = {"user": "alice", "database": postgres_module.DATABASE, "application_name": "idle"}


def resident(proxy):
    text = pathlib.Path(f"/proc/{proxy.process.pid}/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^Rss:\s+(\d+)", text, re.M).group(1))


def said_to_end(sock, packet):
    """Sends it and reads to the next ReadyForQuery; the descriptors are beyond what select() can name."""
    sock.sendall(packet)
    got = b""
    while not got.endswith(b"Z\0\0\0\5I"):
        more = sock.recv(65536)
        assert more, got
        got += more


def log_in(proxy):
    sock = proxy.address.connect()
    sock.settimeout(20 * PATIENCE)
    said_to_end(sock, startup(ALICE))
    return sock


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < CLIENTS + 200:
        pytest.skip(f"only {hard} open files are allowed here")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_idle_client_costs_a_kibibyte(quiet_postgres, new_proxy, many_files):
    if "PGBULKHEAD_TEST_NO_RSS" in os.environ:
        pytest.skip("the sanitizers' memory says nothing")
    database = {"conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}", "pool_size": 4}
    proxy = new_proxy(
        quiet_postgres,
        {"databases": {"*": database}, "limits": {"max_clients": CLIENTS + 100}},
    )
    first = [log_in(proxy) for _ in range(20)]
    before = resident(proxy)
    idle = [log_in(proxy) for _ in range(CLIENTS)]
    greeted = (resident(proxy) - before) / CLIENTS
    # All of them speak once; a second later nobody has a machine any more, and the memory of those
    # that rested first has served those that spoke later.
    for session in idle:
        said_to_end(session, Q(";"))
    spoken = (resident(proxy) - before) / CLIENTS
    print(f"\n{CLIENTS} idle clients: {greeted:.0f} bytes each after login, {spoken:.0f} after a statement")
    assert greeted <= BYTES_MAX
    assert spoken <= 3 * BYTES_MAX
    for session in [*first, *idle]:
        session.close()
    until(lambda: proxy.metrics().sum("pgbulkhead_clients") == 0, within=10, what="all have left")
