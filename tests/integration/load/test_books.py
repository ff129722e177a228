"""The books balance at every scrape, whatever happens meanwhile: each arrival is admitted, refused for one
reason, cancelled or left while queued, or still waits; and likewise for the parked."""

import itertools

import pytest
from bed import finish_load, start_load
from form import FULL

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

SECONDS = 30 if FULL else 5
LANES = ["plain", "paced", "shadowed", "free"]


def workload(name, **changes):
    budget = {"concurrency": 2, "queue": 4, "queue_wait": "30ms"}
    return {"name": name, "match": {"application_name": name}, **budget, **changes}


@pytest.fixture
def proxy(new_proxy, quiet_postgres):
    return new_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    # Less than all permits, and little patience: holders are refused, too.
                    "pool_size": 6,
                    "pool_wait": "20ms",
                }
            },
            "workloads": [
                workload("plain"),
                workload("paced", pace_retries=True),
                workload("shadowed", mode="shadow"),
                workload("free", mode="off"),
                {"name": "default", "concurrency": 8},
            ],
        },
    )


def imbalance(metrics, lane):
    """What is on one side of the books of `lane` and not on the other."""

    def all_of(family):
        return metrics.sum(f"pgbulkhead_workload_{family}", workload=lane)

    arrivals = all_of("arrived_total") + all_of("rejected_holders_total")
    ends = ("admitted_total", "rejected_total", "cancelled_while_queued_total", "left_while_queued_total")
    outcomes = sum(map(all_of, ends)) + all_of("waiting")
    ends = ("unparked_total", "cancelled_while_parked_total", "left_while_parked_total")
    unparked = sum(map(all_of, ends)) + all_of("parked")
    return arrivals - outcomes, all_of("parkings_total") - unparked


def test_the_books_balance_at_every_scrape(proxy):
    behaviours = itertools.cycle(["at-once", "obey", "own-clock", "give-up"])
    running = [
        start_load(
            proxy.unix_address,
            clients=12,
            seconds=SECONDS,
            sql="select pg_sleep(0.005)",
            application_name=lane,
            after_refusal=behaviour,
            seed=seed,
        )
        for seed, (lane, behaviour) in enumerate(zip(LANES * 2, behaviours))
    ]
    scrapes = 0
    while any(process.poll() is None for process in running):
        metrics = proxy.metrics()
        for lane in LANES:
            assert imbalance(metrics, lane) == (0, 0), f"{lane} after {scrapes} scrapes:\n{metrics.text}"
        scrapes += 1
    assert scrapes > SECONDS
    told = [finish_load(process) for process in running]
    metrics = proxy.metrics()
    for lane in LANES:
        assert imbalance(metrics, lane) == (0, 0)
        assert metrics.admitted(lane) > 0
    assert sum(run["refused"] for run in told) > 0
    assert metrics.rejected("shadowed", "queue_full") == metrics.rejected("free", "queue_full") == 0
    proxy.assert_clean()
