"""One proxy for a file of conditions; after each of them its books must be empty."""

import pytest

from support.lanes import WORKLOADS


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.empty_tables()
    yield
    postgres.empty_tables()


@pytest.fixture
def rows(postgres):
    """`rows()`: what is stored in t, as PostgreSQL itself says."""
    return lambda: [a for (a,) in postgres.sql("select a from t order by a")]
