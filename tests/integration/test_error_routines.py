"""Errors about prepared statements name PostgreSQL's routine, whoever made them: postgres.js, pgJDBC
and ActiveRecord decide by it whether they prepare anew or give the error to the application."""

import pytest

from support.messages import B, C, E, P, Q, S, only_error


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


@pytest.fixture(params=["PostgreSQL", "proxy"])
def server(request, proxy, postgres):
    return postgres if request.param == "PostgreSQL" else proxy


def routine(got):
    error = only_error(got)
    return error["C"], error["R"]


def test_a_name_that_nobody_made(server, connect):
    session = connect(server)
    assert routine(session.ask(B(statement="a") + S)) == ("26000", "FetchPreparedStatement")


def test_a_name_that_is_taken(server, connect):
    session = connect(server)
    session.ask(P("select 1 + 0", "a") + S)
    taken = ("42P05", "StorePreparedStatement")
    assert routine(session.ask(P("select 2", "a") + S)) == taken
    session.ask(P("begin", "b") + S)
    assert routine(session.ask(P("begin", "b") + S)) == taken


def test_a_wrong_number_of_values(server, connect):
    session = connect(server)
    session.ask(P("select $1::int", "a") + S)
    assert routine(session.ask(B(statement="a") + S)) == ("08P01", "exec_bind_message")


def test_rows_that_look_otherwise_on_another_backend(server, postgres, connect):
    owner = connect(postgres)
    owner.ask(Q("drop table if exists routines; create table routines (a int)"))
    session, other = connect(server), connect(server)
    session.ask(P("select * from routines", "a") + S)
    # The backend that has the statement is busy elsewhere.
    other.ask(Q("begin"))
    other.ask(Q("select 1 + 0"))
    owner.ask(Q("alter table routines add column b int"))
    changed = session.ask(B(statement="a") + E() + S)
    assert routine(changed) == ("0A000", "RevalidateCachedQuery")
    healed = session.ask(C("S", "a") + P("select * from routines", "a") + B(statement="a") + S)
    assert [msg.kind for msg in healed] == ["3", "1", "2", "Z"]
    other.ask(Q("rollback"))
    owner.ask(Q("drop table routines"))
