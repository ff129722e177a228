"""Goodput: however much clients want and whatever they do with a refusal, the permits do useful work.

Load is what the clients would use of the permits if there were enough: in the closed loop each thinks as
long as its work takes, in the open one transactions come at random moments. The full form has four loads,
both loops and four kinds of clients, and PgBouncer beside them, which knows no refusal: its clients wait
for ever, or `query_wait_timeout` long and lose their connection. It prints a table.
"""

import itertools
import sys

import pytest
from bed import ROOT, run_load
from form import FULL

from support.wire import Address

sys.path.insert(0, str(ROOT / "tests/bench"))

from peers import PgBouncer  # noqa: E402

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

PERMITS, QUEUE, WORK_MS = 4, 8, 50
SQL = f"select pg_sleep({WORK_MS / 1000})"
LOADS = [1, 2, 5, 10] if FULL else [5]
SECONDS, WARMUP = (15, 3) if FULL else (4, 1)
CLIENTS = {
    "obedient": {"after_refusal": "obey"},
    "own clock": {"after_refusal": "own-clock", "retry_every": 20},
    "at once": {"after_refusal": "at-once"},
    "at once, paced": {"after_refusal": "at-once"},
}
# Of what four clients of PostgreSQL itself get done. A run of a few seconds on a busy machine has its own
# troubles; the full form is for a quiet one.
SHARE = 0.95 if FULL else 0.7
# A machine that stalls while it measures has measured itself: the best of so many is judged.
ATTEMPTS = 3


def workload(name, **changes):
    return {
        "name": name,
        "concurrency": PERMITS,
        "queue": QUEUE,
        "queue_wait": "200ms",
        "pooling": "transaction",
        **changes,
    }


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres):
    return module_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    "pool_size": 2 * PERMITS + 2,
                }
            },
            "workloads": [
                workload("paced", match={"application_name": "paced"}, pace_retries=True),
                workload("default"),
            ],
        },
    )


@pytest.fixture(scope="module")
def capacity(quiet_postgres):
    """Transactions a second of as many direct clients as there are permits."""
    runs = [
        run_load(quiet_postgres.unix_address, clients=PERMITS, seconds=SECONDS, warmup=0.5, sql=SQL)
        for _ in range(2)
    ]
    return max(run["useful_per_s"] for run in runs)


def offered(loop, load, capacity):
    """The clients of a load. One of the closed loop that thinks as long as it works wants half a permit."""
    if loop == "closed":
        return {"clients": 2 * load * PERMITS, "think": WORK_MS}
    # One that is busy misses what comes meanwhile: so many that few are.
    return {"clients": 400, "rate": load * capacity}


def play(address, capacity, loop, load, **clients):
    return run_load(
        address, seconds=SECONDS, warmup=WARMUP, sql=SQL, **clients, **offered(loop, load, capacity)
    )


def tell(name, run, capacity):
    """One line of the table; returns the share of the capacity."""
    share = run["useful_per_s"] / capacity
    tried = run["ok"] + run["refused"] + run["errors"] + run["connections_lost"]
    print(
        f"\n{name}: {share:.3f} of capacity, {tried / max(1, run['ok']):.2f} attempts a success,"
        f" p99 {run['ok_latency']['p99_ms']:.0f} ms, {run['connections_lost']} connections lost"
    )
    return share


@pytest.mark.parametrize("loop, load, kind", list(itertools.product(["closed", "open"], LOADS, CLIENTS)))
def test_the_permits_do_useful_work(proxy, capacity, loop, load, kind):
    name = "paced" if "paced" in kind else "other"
    for _ in range(ATTEMPTS):
        run = play(
            proxy.unix_address, capacity, loop, load, application_name=name, **CLIENTS[kind]
        )
        share = tell(f"{loop} loop, {load}x, {kind}", run, capacity)
        if share >= SHARE:
            break
    assert (run["errors"], run["connections_lost"], run["logins_refused"]) == (0, 0, 0)
    assert share >= SHARE


def test_all_counts_are_back_to_zero(proxy):
    proxy.assert_clean()


@pytest.fixture(scope="module", params=[0, 1], ids=["waits for ever", "waits one second"])
def bouncer(request, quiet_postgres):
    """PgBouncer with as many backends as there are permits; one second is the shortest wait it knows."""
    made = PgBouncer(
        quiet_postgres.directory,
        quiet_postgres.port,
        PERMITS,
        "transaction",
        query_wait_timeout=request.param,
    )
    yield made
    made.stop()


@pytest.mark.skipif(not FULL, reason="a comparison: it promises nothing of ours")
@pytest.mark.parametrize("loop, load", list(itertools.product(["closed", "open"], LOADS)))
def test_pgbouncer_beside_it(bouncer, capacity, loop, load, request):
    run = play(Address("127.0.0.1", bouncer.port), capacity, loop, load)
    tell(f"{loop} loop, {load}x, PgBouncer {request.node.callspec.id}", run, capacity)
    assert run["ok"] > 0
    assert run["refused"] == 0
