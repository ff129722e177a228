"""PostgreSQL's own limits, and the one that is like them, end the work and not the session."""

import pytest

from support.lanes import hints
from support.messages import Q, only_error
from support.waiting import until

pytestmark = pytest.mark.needs_proxy


def goes_on(proxy, session):
    """The session works, and its permit is back."""
    assert session.value("select 42") == "42"
    until(lambda: proxy.running("default") == 0, what="the permit is back")


def test_statement_timeout_is_57014_and_the_session_goes_on(proxy, connect):
    session = connect(proxy)
    session.query("set statement_timeout = '300ms'")
    assert only_error(session.ask(Q("select pg_sleep(30)")))["C"] == "57014"
    session.query("reset statement_timeout")
    goes_on(proxy, session)


def test_lock_timeout_is_55p03_and_the_session_goes_on(proxy, connect):
    holder, session = connect(proxy), connect(proxy)
    holder.query("begin")
    holder.query("lock table t")
    session.query("set lock_timeout = '100ms'")
    assert only_error(session.ask(Q("insert into t values (1)")))["C"] == "55P03"
    holder.query("rollback")
    goes_on(proxy, session)


def test_idle_in_transaction_ends_the_block_and_the_session_goes_on(proxy, postgres, connect):
    """PostgreSQL closes its session; the client's lives, and is told that nothing was stored."""
    session = connect(proxy, options="-c idle_in_transaction_session_timeout=100ms")
    session.ask(Q("begin"), Q("insert into t values (1) /* idle */"), ready=2)
    until(lambda: not postgres.busy(), what="PostgreSQL has closed its session")
    got = session.ask(Q("commit"))
    fields = [msg.fields() for msg in got if msg.kind == "E"]
    assert all(f["C"] == "40001" and hints(f)["reason"] == "backend_lost" for f in fields), fields
    assert [msg.tag() for msg in got if msg.kind == "C"] in ([], ["ROLLBACK"])
    if got[-1].status() == "E":
        session.query("rollback")
    assert postgres.sql("select * from t") == []
    goes_on(proxy, session)


def test_a_deadlock_is_40p01_for_one_and_both_sessions_go_on(proxy, postgres, connect):
    postgres.sql("insert into k values (1), (2)")
    first, second = connect(proxy), connect(proxy)
    for session, row in ((first, 1), (second, 2)):
        session.query("begin")
        session.query(f"select * from k where id = {row} for update")
    first.send(Q("select * from k where id = 2 for update"))
    waits = "select count(*) from pg_locks where not granted"
    until(lambda: postgres.count(waits) == 1, what="the first waits for the second")
    second.send(Q("select * from k where id = 1 for update"))
    answers = [session.until("Z") for session in (first, second)]
    assert sorted(got[-1].status() for got in answers) == ["E", "T"]
    assert [msg.fields()["C"] for got in answers for msg in got if msg.kind == "E"] == ["40P01"]
    tags = sorted(session.ask(Q("commit"))[0].tag() for session in (first, second))
    assert tags == ["COMMIT", "ROLLBACK"]
    for session in (first, second):
        goes_on(proxy, session)


def test_transaction_timeout_rolls_back_and_is_told(new_proxy, postgres, connect):
    lane = {"name": "default", "concurrency": 4, "transaction_timeout": "300ms"}
    proxy = new_proxy(postgres, {"workloads": [lane]})
    session = connect(proxy)
    session.send(Q("begin"), Q("insert into t values (1)"))
    told = [msg.fields() for msg in session.drain() if msg.kind == "E"]
    assert [(fields["S"], fields["C"]) for fields in told] == [("FATAL", "25P04")]
    proxy.assert_clean()
    assert postgres.sql("select * from t") == []
    goes_on(proxy, connect(proxy))
