"""A cancel that comes while the proxy does work of its own, or while nothing runs: the client's
statement fails at most, the books stay right."""

import random

import pytest

from support.messages import B, D, E, H, P, Q, S, batch, codes
from support.postgres import DATABASE
from support.rival import Rival
from support.waiting import until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

ROUNDS = 60


@pytest.fixture
def one_backend(new_proxy, postgres):
    return new_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "20s"}}})


@pytest.fixture
def blocker(postgres):
    """A superuser whose open transaction holds locks."""
    session = Session(postgres.unix_address, {"user": "postgres", "database": DATABASE})
    session.query("begin")
    yield session
    session.terminate()


def blocked(postgres):
    """pg_stat_activity would wait for pg_authid itself."""
    return postgres.count("select count(*) from pg_locks where not granted")


def test_a_cancel_between_two_batches_has_no_effect(one_backend, connect):
    session = connect(one_backend)
    for _ in range(3):
        session.send(batch("select 1 + 0"), H)
        session.until("C")
        assert session.cancel() == b""
        assert session.quiet(0.05) is None
        session.send(batch("select 2"), S)
        assert codes(session.until("Z")) == ["1", "2", "D", "C", "Z"]
    one_backend.assert_clean()


def test_a_cancel_while_the_role_is_set_up_fails_no_more_than_the_statement(
    postgres, one_backend, connect, blocker
):
    session, other = connect(one_backend), connect(one_backend)
    session.query("set role clerk")
    assert session.value("select current_user") == "clerk"
    assert other.value("select current_user") == "alice"
    # The backend knows the role from its cache, until the role changes.
    postgres.sql("alter role clerk connection limit 7")
    blocker.query("lock table pg_authid in access exclusive mode")
    session.send(Q("select current_user"))
    until(lambda: blocked(postgres) == 1, what="the set-up waits")
    session.cancel()
    blocker.query("rollback")
    got = session.until("Z")
    assert codes(got) in (["57014", "Z"], ["T", "D", "C", "Z"])
    for _ in range(3):
        assert other.value("select current_user") == "alice"
        assert session.value("select current_user") == "clerk"
    one_backend.assert_clean()


def test_a_cancel_while_a_statement_is_prepared_again_leaves_it_to_its_session(
    postgres, new_proxy, connect, blocker
):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 3}}})
    session, holder = connect(proxy), connect(proxy)
    session.ask(P("select count(*) from k", "counted"), S)
    # The holder keeps the backend on which it was prepared.
    holder.query("begin")
    holder.query("select 1 + 0")
    blocker.query("lock table k in access exclusive mode")
    run = B(statement="counted") + D("P") + E() + S
    session.send(run)
    until(lambda: blocked(postgres) == 1, what="the statement waits")
    session.cancel()
    assert codes(session.until("Z"))[-2:] == ["57014", "Z"]
    blocker.query("rollback")
    for _ in range(2):
        assert codes(session.ask(run)) == ["2", "T", "D", "C", "Z"]
        holder.query("rollback")
    assert proxy.metrics().sum("pgbulkhead_statements_prepared_total") >= 1
    proxy.assert_clean()


def test_cancels_around_set_up_work_never_leave_a_wrong_setting(one_backend):
    rng = random.Random(11)
    session = Session(one_backend.address, {"user": "alice", "database": DATABASE})
    session.query("set work_mem = '7MB'")
    session.ask(P("select current_setting('work_mem')", "ask"), S)
    plain, prepared = Q("select current_setting('work_mem')"), B(statement="ask") + E() + S
    with Rival(one_backend.address, "select 'b' where current_setting('work_mem') <> '7MB'"):
        for _ in range(ROUNDS):
            session.send(rng.choice([plain, prepared]))
            assert session.cancel() == b""
            got = session.until("Z")
            rows = [msg.row() for msg in got if msg.kind == "D"]
            assert rows == [("7MB",)] or "57014" in codes(got)
            assert session.value("select current_setting('work_mem')") == "7MB"
    session.terminate()
    one_backend.assert_clean()
