"""Two workloads, one of them flooded by 500 clients: the other does not notice, and the flooded one serves who came
first. Also when the pool has half as many backends as both may use together, where a wait for a backend adds to it.
"""

import pytest
from bed import finish_load, run_load, start_load
from form import FULL

from support.lanes import Holder, enter, queued, served
from support.waiting import until

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

FLOOD, PERMITS, WORK_MS = 500, 16, 40
SQL = f"select pg_sleep({WORK_MS / 1000})"
# As long on average, but no two end together: backends that are all given back at the same instant would make
# whoever comes just after wait as long as a transaction of the flood takes.
FLOOD_SQL = f"select pg_sleep({WORK_MS / 1000} * (0.5 + random()))"
SECONDS = 10 if FULL else 3
# What a transaction of the calm workload may take at the 99th percentile, in parts of what it takes alone. Both are
# bounds of buckets, printed with three decimals.
LONGEST, ROUNDED_MS = 1.5, 0.01
# A machine that stalls while it measures has measured itself: the best of so many is judged.
ATTEMPTS = 3


def workload(name, **changes):
    return {
        "name": name,
        "match": {"application_name": name},
        "concurrency": PERMITS,
        "queue": 2 * FLOOD,
        "queue_wait": "60s",
        **changes,
    }


def two_workloads(new_proxy, quiet_postgres, backends):
    return new_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    "pool_size": backends,
                    "pool_wait": "10s",
                }
            },
            "workloads": [workload("flooded"), workload("calm"), workload("default", match=None)],
        },
    )


def calm_clients(proxy):
    """Half as many clients as permits: what they want is their share also of half the backends."""
    return run_load(
        proxy.unix_address,
        application_name="calm",
        clients=PERMITS // 2,
        think=5,
        seconds=SECONDS,
        warmup=0.5,
        sql=SQL,
    )


def is_calm(p99):
    return p99[1] <= LONGEST * p99[0] + ROUNDED_MS


def calm_beside_a_flood(proxy):
    flood = start_load(
        proxy.unix_address, application_name="flooded", clients=FLOOD, seconds=SECONDS + 4, sql=FLOOD_SQL
    )
    until(lambda: proxy.waiting("flooded") >= FLOOD - PERMITS, 60, "the flood is there")
    calm = calm_clients(proxy)
    return calm, finish_load(flood)


# The pool: a backend for each permit of the two, and half of that.
@pytest.mark.parametrize("backends", [2 * PERMITS, PERMITS], ids=["backends for all", "half the backends"])
def test_a_flooded_workload_does_not_slow_the_other(new_proxy, quiet_postgres, backends):
    proxy = two_workloads(new_proxy, quiet_postgres, backends)
    for _ in range(ATTEMPTS):
        alone = calm_clients(proxy)
        calm, flood = calm_beside_a_flood(proxy)
        p99 = [run["ok_latency"]["p99_ms"] for run in (alone, calm)]
        if is_calm(p99):
            break
    print(f"\n{backends} backends: p99 alone {p99[0]:.1f} ms, beside the flood {p99[1]:.1f} ms")
    for run in (alone, calm, flood):
        assert run["ok"] > 0
        assert (run["errors"], run["refused"], run["connections_lost"]) == (0, 0, 0)
    assert is_calm(p99)
    proxy.assert_clean()


def test_500_are_served_in_the_order_in_which_they_came(new_proxy, quiet_postgres, connect):
    proxy = new_proxy(
        quiet_postgres,
        {"workloads": [workload("default", match=None, concurrency=1)]},
    )
    holder = Holder(connect, proxy)
    sessions = [queued(proxy, connect, "default", enter(i), i + 1) for i in range(FLOOD)]
    holder.release()
    for session in sessions:
        session.until("Z")
    assert served(quiet_postgres) == [str(i) for i in range(FLOOD)]
    quiet_postgres.empty_tables()
