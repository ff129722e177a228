"""A refusal is one ERROR that says all, the connection lives on, and nothing has reached
PostgreSQL."""

import uuid

import pytest

from support.lanes import WORKLOADS, Holder, check_refusal, hints
from support.messages import (
    B,
    C,
    CopyData,
    CopyDone,
    CopyFail,
    D,
    E,
    F,
    H,
    P,
    Q,
    S,
    batch,
    query_batch,
    shape,
)

pytestmark = pytest.mark.needs_proxy

FULL = "running=1 limit=1 waiting=0 queue=0 waited_ms=0"


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture
def full(proxy, connect):
    """The only permit of `tight` is held; `release()` gives it back."""
    return Holder(connect, proxy, "tight")


@pytest.fixture
def session(proxy, connect):
    return connect(proxy, application_name="tight")


@pytest.fixture
def marked(postgres):
    """`marked(text)` is a statement that can be recognised in the server's log; none may arrive
    there."""
    marker, since = uuid.uuid4().hex, postgres.log_end()
    yield lambda text: f"{text} /* {marker} */"
    assert not postgres.has_seen(marker, since), "a refused statement reached PostgreSQL"


def refuse(session, *chunks, status="I"):
    """Sends and expects exactly one refusal and one ReadyForQuery."""
    got = session.ask(*chunks)
    assert shape(got) == f"EZ{status}", got
    check_refusal(got[0], "tight", "queue_full", detail=FULL)
    return got[0]


def test_a_query_is_refused_exactly_as_the_contract_says(full, session, marked):
    refuse(session, Q(marked("insert into t values (1)")))


@pytest.mark.parametrize(
    "name, chunks",
    {
        "a batch": lambda m: [query_batch(m("insert into t values (1)"))],
        "a batch with parameters": lambda m: [query_batch(m("insert into t values ($1)"), ["1"])],
        "a batch of several statements": lambda m: [
            batch(m("insert into t values (1)")),
            batch(m("select 1 + 0")),
            S,
        ],
        "a named Parse": lambda m: [P(m("select 1 + 0"), "named"), D("S", "named"), S],
        "a function call": lambda m: [F(177, "1", "2")],
        "a copy in": lambda m: [Q(m("copy t from stdin"))],
        "a copy out": lambda m: [Q(m("copy t to stdout"))],
        "several statements in one text": lambda m: [Q(m("select 1; select 2"))],
        "a utility": lambda m: [Q(m("vacuum t"))],
        "a text of 3 MB": lambda m: [Q(m("select '" + "x" * 3_000_000 + "'"))],
        "a batch of 3 MB": lambda m: [query_batch(m("select $1::text"), ["x" * 3_000_000])],
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_of_first_message_is_refused_by_one_error_and_one_ready(
    full, session, marked, name, chunks
):
    refuse(session, *chunks(marked))


def test_the_connection_lives_and_the_next_transaction_is_admitted(full, session):
    refuse(session, Q("select 1 + 0"))
    full.release()
    assert session.value("select 2") == "2"
    assert [msg.row() for msg in session.ask(query_batch("select 3")) if msg.kind == "D"] == [
        ("3",)
    ]


def test_the_rest_of_a_refused_batch_is_discarded_when_it_comes_later(full, session, marked):
    session.send(P(marked("insert into t values (1)")), D("S"), H)
    check_refusal(session.read(), "tight", "queue_full")
    session.send(B(), E(), H)
    assert session.quiet(0.1) is None
    session.send(Q(marked("insert into t values (2)")))
    assert session.quiet(0.1) is None
    session.send(S)
    assert shape(session.until("Z")) == "ZI"


def test_the_rest_of_a_refused_batch_is_not_executed_when_a_permit_is_free_meanwhile(
    full, session, marked
):
    session.send(batch(marked("insert into t values (1)")), H)
    assert session.read().kind == "E"
    full.release()
    session.send(batch(marked("insert into t values (2)")), S)
    assert shape(session.until("Z")) == "ZI"
    assert session.value("select 2") == "2"


def test_three_batches_in_one_write_get_three_refusals_and_three_readies(full, session, marked):
    got = session.ask(*(query_batch(marked("insert into t values (1)")) for _ in range(3)), ready=3)
    assert shape(got) == "EZI" * 3


def test_three_queries_in_one_write_get_three_refusals_and_three_readies(full, session, marked):
    got = session.ask(*(Q(marked("insert into t values (1)")) for _ in range(3)), ready=3)
    assert shape(got) == "EZI" * 3


def test_what_needs_no_backend_is_answered_without_a_slot(full, session):
    got = session.ask(
        S, H, Q(""), Q(";"), Q("-- ping"), Q("rollback"), Q("commit"), query_batch(""), ready=7
    )
    assert shape(got) == "ZI" + "IZI" * 3 + "NCZI" * 2 + "12nIZI"
    assert [msg.fields()["C"] for msg in got if msg.kind == "N"] == ["25P01", "25P01"]


def test_late_copy_messages_behind_a_refused_copy_are_dropped(full, session, marked):
    refuse(session, Q(marked("copy t from stdin")))
    session.send(CopyData("1\n"), CopyDone, CopyFail())
    assert session.quiet(0.1) is None
    refuse(session, Q(marked("select 1 + 0")))


def test_a_refused_parse_registers_no_name(full, session):
    refuse(session, P("select 1 + 0", "named"), S)
    full.release()
    got = session.ask(B(statement="named"), E(), S)
    assert (got[0].kind, got[0].fields()["C"]) == ("E", "26000")


def test_inside_a_transaction_nothing_is_refused(full):
    for i in range(5):
        assert full.session.value(f"select {i}") == str(i)
    assert (
        shape(full.session.ask(query_batch("select 1 + 0"), F(177, "1", "2"), ready=2)) == "12TDCZTVZT"
    )


def test_a_session_that_never_took_a_permit_does_not_hold_one(proxy, connect, full, session):
    """A virtual BEGIN, a ping or a refusal leaves nothing behind in the books."""
    for text in ("begin", "", "rollback"):
        session.query(text)
    refuse(session, Q("select 1 + 0"))
    assert proxy.running("tight") == 1 and proxy.waiting("tight") == 0


def test_refusals_are_counted_by_reason(proxy, full, session):
    before = proxy.metrics().rejected("tight", "queue_full")
    refuse(session, Q("select 1 + 0"))
    refuse(session, query_batch("select 1 + 0"))
    assert proxy.metrics().rejected("tight", "queue_full") == before + 2


def test_other_workloads_are_served_while_one_is_full(proxy, connect, full):
    other = connect(proxy)
    for i in range(20):
        assert other.value(f"select {i}") == str(i)


# ---- BEGIN


def begin_refused(session, marked, *chunks):
    got = session.ask(Q("begin"), *chunks, ready=2)
    assert shape(got) == "CZTEZE", got
    check_refusal(got[2], "tight", "queue_full", detail=FULL)


@pytest.mark.parametrize("build", [Q, query_batch], ids=["query", "batch"])
def test_a_refused_statement_behind_begin_leaves_a_failed_block(full, session, marked, build):
    begin_refused(session, marked, build(marked("insert into t values (1)")))
    got = session.ask(Q(marked("select 1 + 0")))
    assert shape(got) == "EZE" and got[0].fields()["C"] == "25P02"
    assert (
        got[0].fields()["M"]
        == "current transaction is aborted, commands ignored until end of transaction block"
    )
    got = session.ask(Q("commit"))
    assert shape(got) == "CZI" and got[0].tag() == "ROLLBACK"


def test_begin_insert_commit_in_one_write_runs_nothing(full, session, marked):
    got = session.ask(Q("BEGIN"), Q(marked("INSERT INTO t VALUES (1)")), Q("COMMIT"), ready=3)
    assert shape(got) == "CZTEZECZI" and got[-2].tag() == "ROLLBACK"


def test_a_query_begin_and_a_batch_in_one_write_run_nothing(full, session, marked):
    got = session.ask(Q("BEGIN"), query_batch(marked("insert into t values ($1)"), ["1"]), ready=2)
    assert shape(got) == "CZTEZE"
    assert session.ask(Q("ROLLBACK"))[0].tag() == "ROLLBACK"


def test_begin_and_the_statement_before_one_sync_run_nothing(full, session, marked):
    got = session.ask(batch("BEGIN"), P(marked("insert into t values (1)")), B(), D(), E(1), S)
    assert shape(got) == "12CEZE"
    got = session.ask(batch("COMMIT"), S)
    assert shape(got) == "12CZI" and got[2].tag() == "ROLLBACK"


def test_begin_insert_commit_before_one_sync_run_nothing(full, session, marked):
    got = session.ask(batch("begin"), batch(marked("insert into t values (1)")), batch("commit"), S)
    assert shape(got) == "12CEZE"


@pytest.mark.parametrize(
    "first, expected",
    [
        ("begin; insert into t values (1); commit", "EZE"),
        ("insert into t values (1); begin", "EZI"),
        ("begin; select 1 + 0", "EZE"),
        ("select 1; commit", "EZI"),
    ],
)
def test_a_text_of_several_statements_is_refused_as_a_whole(full, session, marked, first, expected):
    assert shape(session.ask(Q(marked(first)))) == expected


FAILED_BLOCK = [
    ("a statement", Q("select 1 + 0"), "EZE", "25P02"),
    ("begin", Q("begin"), "EZE", "25P02"),
    ("an empty query", Q(""), "IZE", None),
    ("a savepoint", Q("savepoint a"), "EZE", "25P02"),
    ("rollback to an unknown savepoint", Q("rollback to nope"), "EZE", "3B001"),
    ("a Parse", P("select 1 + 0") + S, "EZE", "25P02"),
    ("a batch", query_batch("select 1 + 0"), "EZE", "25P02"),
    ("a batch with an empty query", query_batch(""), "1EZE", "25P02"),
    ("a Sync", S, "ZE", None),
    ("a copy", Q("copy t from stdin"), "EZE", "25P02"),
    ("a function call", F(177, "1", "2"), "EZE", "25P02"),
    ("a bind of an unknown statement", B(statement="nope") + S, "EZE", "26000"),
    ("a close of an unknown statement", C("S", "nope") + S, "3ZE", None),
    ("commit", Q("commit"), "CZI", None),
    ("commit as a batch", query_batch("commit"), "12nCZI", None),
    ("rollback", Q("rollback"), "CZI", None),
    ("rollback as a batch", query_batch("rollback"), "12nCZI", None),
    ("rollback and chain", Q("rollback and chain"), "CZT", None),
    ("commit and chain", Q("commit and chain"), "CZT", None),
]


@pytest.mark.parametrize(
    "name, data, expected, code", FAILED_BLOCK, ids=[row[0] for row in FAILED_BLOCK]
)
def test_a_refused_block_answers_as_a_failed_block(
    full, session, marked, name, data, expected, code
):
    begin_refused(session, marked, Q(marked("select 1 + 0")))
    got = session.ask(data)
    assert shape(got) == expected, got
    assert [msg.fields()["C"] for msg in got if msg.kind == "E"] == ([code] if code else [])
    assert [msg.tag() for msg in got if msg.kind == "C"] in ([], ["ROLLBACK"])


@pytest.mark.proves_postgresql
@pytest.mark.parametrize(
    "name, data, expected, code", FAILED_BLOCK, ids=[row[0] for row in FAILED_BLOCK]
)
def test_that_table_is_what_postgresql_does_in_a_failed_block(
    postgres, connect, name, data, expected, code
):
    direct = connect(postgres)
    direct.ask(Q("begin"), Q("select 1/0"), ready=2)
    got = direct.ask(data)
    assert shape(got) == expected, got
    assert [msg.fields()["C"] for msg in got if msg.kind == "E"] == ([code] if code else [])


def test_a_savepoint_before_the_refusal_cannot_be_rolled_back_to_life(full, session, marked):
    """PostgreSQL would revive a block here; nothing of this one exists.

    So the answer may only keep the block failed, or revive a block in which the next statement
    arrives at the gate.
    """
    session.ask(Q("begin"), Q("savepoint a"), Q(marked("insert into t values (1)")), ready=3)
    got = session.ask(Q("rollback to a"))
    assert shape(got) in ("EZE", "CZT")
    got = session.ask(Q(marked("insert into t values (2)")))
    assert shape(got) == "EZE"


def test_a_chained_block_arrives_at_the_gate_anew(full, session, marked):
    begin_refused(session, marked, Q(marked("select 1 + 0")))
    assert shape(session.ask(Q("rollback and chain"))) == "CZT"
    assert shape(session.ask(Q(marked("select 1 + 0")))) == "EZE"
    assert shape(session.ask(Q("rollback and chain"))) == "CZT"
    full.release()
    assert session.value("select 5") == "5"
    assert session.ask(Q("commit"))[0].tag() == "COMMIT"


def test_a_block_is_admitted_on_the_same_connection_after_a_refused_one(full, session, postgres):
    postgres.empty_tables()
    begin_refused(session, None, Q("insert into t values (1)"))
    session.query("rollback")
    full.release()
    for text in ("begin", "insert into t values (2)", "commit"):
        session.query(text)
    assert postgres.sql("select a from t") == [("2",)]


# ---- shape


def test_the_workloads_own_code_is_used(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres, {"workloads": [{"name": "default", "concurrency": 1, "sqlstate": "55P03"}]}
    )
    Holder(connect, proxy)
    check_refusal(
        connect(proxy).ask(Q("select 1 + 0"))[0], "default", "queue_full", code="55P03", detail=FULL
    )


def test_retry_after_stays_below_its_cap(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres, {"workloads": [{"name": "default", "concurrency": 1, "retry_after_cap": "20ms"}]}
    )
    Holder(connect, proxy)
    session = connect(proxy)
    for _ in range(20):
        assert 1 <= int(hints(session.ask(Q("select 1 + 0"))[0].fields())["retry_after_ms"]) <= 20


def test_a_session_of_no_workload_but_the_default_is_named_so(proxy, connect):
    assert connect(proxy).value("select 1 + 0") == "1"
    assert proxy.metrics().admitted("default") >= 1
