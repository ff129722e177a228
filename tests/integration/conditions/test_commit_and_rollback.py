"""What a client is told of its transaction is what PostgreSQL has done."""

import pytest

from support.lanes import check_lost
from support.messages import Q, only_error, shape
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

INSERT = "insert into t values (1)"


def test_a_value_counts_only_after_its_commit(proxy, postgres, connect, rows):
    """The COMMIT takes a second in PostgreSQL: nothing says it is done before it is."""
    session = connect(proxy)
    for text in ("begin", INSERT, "insert into slow_commit values (10)"):
        session.query(text)
    assert rows() == []
    session.send(Q("commit"))
    until(lambda: postgres.running("commit"), what="the COMMIT runs")
    assert rows() == []
    got = session.until("Z")
    assert shape(got) == "CZI" and got[0].tag() == "COMMIT"
    assert rows() == ["1"]


def test_an_error_rolls_back_what_came_before_it(proxy, connect, rows):
    session = connect(proxy)
    got = session.ask(Q("begin"), Q(INSERT), Q("select 1/0"), Q(INSERT), Q("commit"), ready=5)
    assert shape(got) == "CZTCZTEZEEZECZI" and got[-2].tag() == "ROLLBACK"
    assert [msg.fields()["C"] for msg in got if msg.kind == "E"] == ["22012", "25P02"]
    assert rows() == []


def test_a_commit_that_fails_says_so_and_stores_nothing(proxy, connect, rows):
    """A deferred constraint is checked by the COMMIT itself."""
    session = connect(proxy)
    texts = ("begin", INSERT, "insert into late values (1)", "insert into late values (1)")
    for text in texts:
        session.query(text)
    got = session.ask(Q("commit"))
    assert shape(got) == "EZI" and got[0].fields()["C"] == "23505"
    assert rows() == [] and session.value("select 42") == "42"


def test_a_rollback_that_fails_leaves_the_first_error_as_the_news(proxy, postgres, connect, rows):
    """The backend is lost between the error and the ROLLBACK, which has nothing to add."""
    session = connect(proxy)
    session.ask(Q("begin"), Q(INSERT), ready=2)
    assert only_error(session.ask(Q("select 1/0 /* first */")))["C"] == "22012"
    assert postgres.end_backends("/* first */") == 1
    until(lambda: not postgres.busy(), what="the backend has gone")
    got = session.ask(Q("rollback"))
    # The proxy may learn of the loss before the ROLLBACK or by it, and says no more than that.
    for msg in got:
        if msg.kind == "E":
            check_lost(msg.fields())
    assert [msg.tag() for msg in got if msg.kind == "C"] in ([], ["ROLLBACK"])
    session.query("rollback")
    assert rows() == [] and session.value("select 42") == "42"


def test_each_statement_commits_by_itself_without_a_block(proxy, connect, rows):
    session = connect(proxy)
    session.query(INSERT)
    assert rows() == ["1"]
    assert only_error(session.ask(Q("insert into t select 1/0")))["C"] == "22012"
    session.query("insert into t values (2)")
    assert rows() == ["1", "2"]
