"""Transactions of random outcome: whatever becomes of them, every permit comes back."""

import os

import pytest
from form import FULL
from support.waiting import until

pytestmark = [pytest.mark.needs_proxy, pytest.mark.torture]

PERMITS = 8
COUNT = int(os.environ.get("PGBULKHEAD_TEST_TORTURE", "100000" if FULL else "10000"))


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres):
    return module_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    "pool_size": PERMITS + 2,
                    "max_connecting": 4,
                }
            },
            "workloads": [
                {"name": "default", "concurrency": PERMITS, "queue": 48, "queue_wait": "100ms"}
            ],
        },
    )


def test_after_random_outcomes_all_permits_are_back(play, proxy):
    result = play("pgb_torture", proxy, transactions=COUNT, clients=64)
    assert result["stuck"] == ""
    assert result["unexpected"] == {}
    assert result["transactions"] == COUNT
    until(lambda: not proxy.metrics().held(), within=10, what="running = waiting = 0")
    capacity = play("pgb_torture", proxy, transactions=0, capacity=PERMITS)["capacity"]
    assert capacity["held"] == PERMITS, capacity
    # Some of every kind, else nothing was proved.
    assert result["refused"] > 0 and result["ok"] > COUNT / 10 and result["left"] > 0
    assert {"57014", "22012", "08007"} <= set(result["outcomes"])
