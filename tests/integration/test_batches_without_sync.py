"""A batch that a Query or a FunctionCall ends in the place of a Sync. PostgreSQL 18 says then that a
transaction is open, says at the Sync that it is not, and fails the next statement with XX000. That
must not be a statement of somebody else's."""

import pytest

from support.messages import B, E, F, P, Q, S, codes, only_error, shape

pytestmark = pytest.mark.needs_proxy

BATCH = P("select 1 + 0") + B() + E()
INT4PL = 177
ENDS = {
    "a query": (Q("insert into t values (1, 'mine')"), "12DCC"),
    "a function call": (F(INT4PL, 1, 2), "12DCV"),
}


@pytest.fixture
def proxy(new_proxy, postgres):
    """One backend, so that each session gets it from the one before."""
    postgres.settle()
    postgres.empty_tables()
    workload = {"name": "default", "concurrency": 1, "queue": 9, "queue_wait": "20s"}
    yield new_proxy(postgres, {"databases": {"*": {"pool_size": 1}}, "workloads": [workload]})
    postgres.empty_tables()


@pytest.mark.parametrize("end", ENDS)
def test_the_next_session_finds_a_backend_that_is_well(proxy, connect, end):
    first, second = connect(proxy), connect(proxy)
    message, kinds = ENDS[end]
    first.send(BATCH + message + S)
    assert codes(first.until("Z", 2)) == [*kinds, "Z", "Z"]
    assert shape(second.ask(Q("select 2"))) == "TDCZI"
    assert shape(first.ask(P("select 3") + B() + E() + S)) == "12DCZI"


@pytest.mark.parametrize("end", ENDS)
def test_the_backend_is_not_lost_by_it(proxy, connect, end):
    session, message = connect(proxy), ENDS[end][0]
    backend = session.value("select pg_backend_pid()")
    for _ in range(3):
        session.send(BATCH + message + S)
        session.until("Z", 2)
        assert session.value("select pg_backend_pid()") == backend


@pytest.mark.parametrize("end", ENDS)
def test_a_batch_behind_it_is_stored_before_the_next_session(proxy, connect, end):
    first, second = connect(proxy), connect(proxy)
    message, kinds = ENDS[end]
    assert codes(first.ask(BATCH + message)) == [*kinds, "Z"]
    late = P("insert into t values (2, 'mine')") + B() + E() + S
    assert shape(first.ask(late)) == "12CZI"
    assert only_error(second.ask(Q("select 1/0")))["C"] == "22012"
    rows = "2" if end == "a query" else "1"
    assert second.value("select count(*) from t") == rows
