"""A lone Parse that PostgreSQL has lately accepted is answered before a backend is had: a program
that waits in PQprepare does not wait for the backends that its own other connections hold."""

import subprocess

import pytest

from support.messages import B, C, D, E, P, Q, S, codes
from support.postgres import DATABASE
from support.waiting import PATIENCE

X7 = "select 7 as seven"


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "300ms"}}})


def hold(session):
    """Its block has the only backend, and X7 was accepted for its user."""
    session.ask(C("S", "mine") + P(X7, "mine") + S)
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)


def rows(got):
    return [msg.row()[0] for msg in got if msg.kind == "D"]


@pytest.mark.needs_proxy
def test_a_known_parse_needs_no_backend_and_an_unknown_one_does(proxy, connect):
    session, holder = connect(proxy), connect(proxy)
    hold(holder)
    assert codes(session.ask(P(X7, "a") + S)) == ["1", "Z"]
    assert codes(session.ask(P("select 'nobody knows'", "b") + S)) == ["40001", "Z"]
    assert codes(session.ask(P(X7, "c") + D("S", "c") + S)) == ["40001", "Z"]
    assert codes(session.ask(B((), "a") + E() + S)) == ["40001", "Z"]
    holder.query("commit")
    assert rows(session.ask(B((), "a") + E() + S)) == ["7"]


@pytest.mark.needs_proxy
def test_what_others_may_parse_says_nothing(proxy, connect):
    """Another user, another database, other startup parameters, another setting."""
    others = [
        connect(proxy, user="bob"),
        connect(proxy, database="postgres"),
        connect(proxy, options="-c search_path=pg_catalog"),
        connect(proxy),
    ]
    others[-1].query("set search_path = pg_catalog")
    holder = connect(proxy)
    hold(holder)
    for other in others:
        assert codes(other.ask(P(X7, "a") + S)) == ["40001", "Z"]
    holder.query("commit")


@pytest.mark.needs_proxy
def test_a_snapshot_is_taken_by_the_parse_that_takes_it(proxy, connect):
    """A block of a higher isolation level sees what was there at its first Parse."""
    session, holder = connect(proxy), connect(proxy)
    hold(holder)
    session.query("begin isolation level repeatable read")
    assert codes(session.ask(P(X7, "a") + S)) == ["40001", "Z"]
    session.query("rollback")
    session.query("begin")
    assert codes(session.ask(P(X7, "a") + S)) == ["1", "Z"]
    session.query("rollback")
    holder.query("commit")


@pytest.mark.needs_proxy
def test_a_close_and_a_known_parse_heal_a_changed_result(proxy, connect):
    session, other = connect(proxy), connect(proxy)
    other.query("drop table if exists changing; create table changing (a int)")
    text = "select * from changing"
    for each in (session, other):
        assert codes(each.ask(P(text, "a") + S)) == ["1", "Z"]
        assert codes(each.ask(B((), "a") + E() + S)) == ["2", "C", "Z"]
    other.query("alter table changing add b int")
    assert codes(session.ask(B((), "a") + E() + S)) == ["0A000", "Z"]
    assert codes(session.ask(C("S", "a") + P(text, "a") + S)) == ["3", "1", "Z"]
    for each in (session, other, session):
        got = each.ask(C("S", "b") + P(text, "b") + S) + each.ask(D("S", "b") + S)
        assert codes(got) == ["3", "1", "Z", "t", "T", "Z"]
        assert got[-2].body[:2] == b"\0\2"
    assert codes(session.ask(B((), "a") + E() + S)) == ["2", "C", "Z"]
    other.query("drop table changing")
    assert codes(session.ask(C("S", "a") + P(text, "a") + S)) == ["3", "42P01", "Z"]


@pytest.mark.needs_proxy
@pytest.mark.parametrize("threads", [1, 2])
def test_pgbench_prepared_has_more_clients_than_backends(new_proxy, postgres, threads):
    """Each thread prepares for one connection after the other, while those before it work."""
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 4, "pool_wait": "60s"}}})
    where = ["-h", "127.0.0.1", "-p", str(proxy.port), "-U", "alice", DATABASE]
    subprocess.run(["pgbench", "-i", "-q", *where], check=True, capture_output=True)
    done = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", "32", "-j", str(threads), "-t", "10", *where],
        check=False,
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "number of transactions actually processed: 320/320" in done.stdout
