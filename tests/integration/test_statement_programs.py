"""Random programs over prepared statements: five clients on two backends that remember two
statements each are told what PostgreSQL tells each of them alone."""

import os

import pytest

from support.statement_program import first_difference, play_together, program

# The long form: PGBULKHEAD_TEST_SEEDS=200 PGBULKHEAD_TEST_STEPS=2000.
SEEDS = int(os.environ.get("PGBULKHEAD_TEST_SEEDS", "6"))
STEPS = int(os.environ.get("PGBULKHEAD_TEST_STEPS", "150"))
CLIENTS = 5

SMALL = {
    "databases": {"*": {"pool_size": 2, "pool_wait": "60s"}},
    "limits": {"max_backend_statements": 2},
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, SMALL)


@pytest.mark.needs_proxy
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_client_is_told_what_postgresql_would_say(postgres, proxy, seed):
    programs = [program(f"{seed}/{client}", STEPS) for client in range(CLIENTS)]
    expected = play_together(postgres.address, programs)
    actual = play_together(proxy.address, programs)
    difference = first_difference(programs, expected, actual)
    if difference:
        pytest.fail(difference)
    assert proxy.metrics().gauge("pinned") == 0
