"""Two things together: PostgreSQL never has more than B at work, and more clients than B wait meanwhile.
With `mode: off` the same test must fail: then it is the gate that made it pass."""

import pytest
from bed import run_load
from form import FULL

from support.waiting import PATIENCE

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

PERMITS, CLIENTS = 4, 40
SECONDS = 20 if FULL else 3
# Long enough that all who are let in are at work together, also on a slow machine.
SQL = f"select pg_sleep({0.1 * PATIENCE})"
AT_WORK = (
    "select count(*) from pg_stat_activity where state = 'active' and query like 'select pg_sleep%'"
)


def peaks(new_proxy, quiet_postgres, mode):
    """The most that PostgreSQL had at work, and the most that waited at the gate."""
    proxy = new_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    # The pool is no bound here.
                    "pool_size": CLIENTS,
                    "max_connecting": CLIENTS,
                }
            },
            "workloads": [
                {
                    "name": "default",
                    "mode": mode,
                    "concurrency": PERMITS,
                    "queue": CLIENTS,
                    "queue_wait": "60s",
                }
            ],
        },
    )
    run = run_load(
        proxy.unix_address,
        clients=CLIENTS,
        seconds=SECONDS * PATIENCE,
        sql=SQL,
        sample_sql=AT_WORK,
        sample_host=quiet_postgres.directory,
        sample_port=quiet_postgres.port,
        sample_every=5,
    )
    assert (run["errors"], run["refused"], run["connections_lost"]) == (0, 0, 0)
    assert run["ok"] > 0 and run["sampled"]["samples"] > SECONDS
    metrics = proxy.metrics()
    found = run["sampled"]["max"], metrics.gauge("peak_waiting", "default")
    print(f"\n{mode}: at most {found[0]} at work by PostgreSQL's view, {found[1]:.0f} waiting")
    proxy.assert_clean()
    return found


def is_limited(at_work, waiting):
    return at_work <= PERMITS and waiting > PERMITS


def test_no_more_than_b_work_while_more_than_b_wait(new_proxy, quiet_postgres):
    assert is_limited(*peaks(new_proxy, quiet_postgres, "enforce"))


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_without_the_gate_it_would_not_be_so(new_proxy, quiet_postgres, mode):
    at_work, waiting = peaks(new_proxy, quiet_postgres, mode)
    assert not is_limited(at_work, waiting)
    assert at_work > PERMITS and waiting == 0
