"""Pipelines over one backend, with a second client that waits for it all the time."""

import random

import pytest

from support.messages import B, CopyData, CopyDone, D, E, F, H, P, Q, S, batch, query_batch
from support.oracle import Cut, Z, case, compare, cut_points, quiet, ready, upto
from support.rival import Rival
from support.waiting import until

# One backend for everybody: whoever returns it too early shows its answers to the rival.
ONE_BACKEND = {
    "databases": {"*": {"pool_size": 1, "pool_wait": "20s"}},
    "workloads": [{"name": "default", "concurrency": 4, "queue": 50, "queue_wait": "20s"}],
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, ONE_BACKEND)


@pytest.fixture
def rival(proxy):
    with Rival(proxy.address) as running:
        yield running


def answers(got):
    """The answers between ReadyForQuery: rows or an SQLSTATE, and the status."""
    result, current = [], []
    for msg in got:
        if msg.kind == "D":
            current.append(msg.row()[0])
        elif msg.kind == "E":
            current.append(msg.fields()["C"])
        elif msg.kind == "Z":
            result.append((*current, msg.status()))
            current = []
    return result


def test_200_batches_in_one_write_are_answered_in_order_and_the_rival_waits(proxy, connect, rival):
    session = connect(proxy)
    until(lambda: rival.rounds > 3)
    session.send(
        query_batch("select 'slow' from pg_sleep(0.3)"),
        *(query_batch("select $1::text", [str(i)]) for i in range(1, 200)),
    )
    assert answers(session.until("Z", 200)) == [("slow", "I")] + [
        (str(i), "I") for i in range(1, 200)
    ]
    before = rival.rounds
    until(lambda: rival.rounds > before + 3, what="the rival goes on")


@pytest.mark.parametrize("seed", range(25))
def test_batches_cut_at_random_are_answered_in_order(proxy, connect, rival, seed):
    """25 seeds of 20 batches: queries, batches, function calls, errors, and Syncs alone, in random
    pieces."""
    rng = random.Random(seed)
    session, data, expected = connect(proxy), b"", []
    for i in range(20):
        more, answer = rng.choice(KINDS)(i)
        data, expected = data + more, expected + answer
    session.send_cut(data, cut_points(len(data), seed, 12))
    assert answers(session.until("Z", len(expected))) == expected


KINDS = [
    lambda i: (query_batch("select $1::text", [str(i)]), [(str(i), "I")]),
    lambda i: (batch(f"select {i}") + batch(f"select -{i + 1}") + S, [(str(i), str(-i - 1), "I")]),
    lambda i: (Q(f"select {i}"), [(str(i), "I")]),
    lambda i: (query_batch("select 1/0") + Q(f"select {i}"), [("22012", "I"), (str(i), "I")]),
    lambda i: (batch("selec") + Q("select 1 + 0") + S, [("42601", "I")]),
    lambda i: (S, [("I",)]),
    lambda i: (Q(""), [("I",)]),
    lambda i: (F(177, str(i), "1"), [("I",)]),
    lambda i: (
        Q("begin") + query_batch(f"select {i}") + Q("commit"),
        [("T",), (str(i), "T"), ("I",)],
    ),
    lambda i: (H + query_batch(f"select {i}"), [(str(i), "I")]),
]


def test_500_batches_cut_at_random_give_the_same_messages_as_postgresql(postgres, proxy, rival):
    rng = random.Random(500)
    data, count = b"", 0
    for i in range(500):
        more, answer = rng.choice(KINDS)(i)
        data, count = data + more, count + len(answer)
    compare(
        postgres,
        proxy,
        case("500", Cut(data, seed=500, pieces=200), ready(count)).values[0],
        within=20,
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_pipeline_in_pieces_of_one_to_nine_bytes_gives_the_same_messages(postgres, proxy, seed):
    rng = random.Random(seed)
    data, count = b"", 0
    for i in range(8):
        more, answer = rng.choice(KINDS)(i)
        data, count = data + more, count + len(answer)
    compare(
        postgres,
        proxy,
        case("bytes", Cut(data, seed=seed, pieces=len(data) // 5), ready(count)).values[0],
    )


COPY = "copy t from stdin"
ROWS = CopyData("1\tone\n") + CopyData("2\ttwo\n")
BAD = CopyData("no number\n")

# Where the number of Syncs is not the number of ReadyForQuery.
DEBTS = [
    case(
        "a: the Sync before the data of a copy is eaten",
        P(COPY) + B() + E() + S,
        upto("G"),
        quiet(0.2),
        ROWS + CopyDone,
        quiet(0.3),
        S,
        Z,
        quiet(0.1),
    ),
    case(
        "b: Sync and flush among the data of a simple copy",
        Q(COPY),
        upto("G"),
        CopyData("1\ta\n") + S + H + CopyData("2\tb\n") + CopyDone,
        Z,
        quiet(0.1),
    ),
    case(
        "c: a query behind an error gives nothing, and the Sync is still owed",
        batch("select 1/0") + Q("select 1 + 0"),
        upto("E"),
        quiet(2),
        S,
        Z,
        quiet(0.1),
    ),
    case(
        "c: the same with its Sync in one write",
        batch("select 1/0") + Q("select 1 + 0") + S,
        Z,
        quiet(0.1),
    ),
    case(
        "d: a query and a Sync behind a good batch are two",
        batch("select 1 + 0") + Q("select 2") + S,
        ready(2),
        quiet(0.1),
    ),
    case(
        "f: a bad row in a copy by batch",
        batch(COPY) + S,
        upto("G"),
        BAD,
        upto("E"),
        ROWS + CopyDone + S,
        Z,
        quiet(0.1),
    ),
    case(
        "a statement behind a copy in one batch",
        batch(COPY) + H,
        upto("G"),
        ROWS + CopyDone + batch("select 1 + 0") + S,
        Z,
        quiet(0.1),
    ),
]


@pytest.mark.parametrize("made", DEBTS)
def test_what_is_owed_is_counted_as_postgresql_counts_it(postgres, proxy, rival, made):
    compare(postgres, proxy, made)


def test_late_copy_messages_do_not_reach_the_backend_of_another(proxy, connect, rival):
    """e: a bad row ends the copy, the backend serves others, and only then comes the rest of the
    data."""
    session = connect(proxy)
    session.send(Q(COPY))
    session.until("G")
    session.send(BAD)
    assert [msg.kind for msg in session.until("Z")] == ["E", "Z"]
    before = rival.rounds
    until(lambda: rival.rounds >= before + 100, within=10, what="the rival is served 100 times")
    session.send(ROWS, ROWS, CopyDone)
    assert session.value("select 42") == "42"


@pytest.mark.parametrize("text", ["select 1 / 0", "select 'x' from pg_sleep(0.05)"])
def test_a_backend_serves_others_between_the_statements_of_a_client_in_no_transaction(
    proxy, connect, rival, text
):
    session = connect(proxy)
    for _ in range(10):
        before = rival.rounds
        session.ask(Q(text))
        until(lambda: rival.rounds > before, what="the rival is served")


def test_a_transaction_keeps_the_backend_until_its_end(postgres, proxy, connect, rival):
    session = connect(proxy)
    session.query("begin")
    session.query("insert into t values (1)")
    before = rival.rounds
    assert session.quiet(0.2) is None
    if proxy.address != postgres.address:
        assert rival.rounds <= before + 1
    session.query("rollback")
    until(lambda: rival.rounds > before + 1, what="the rival goes on")


def test_a_batch_split_by_a_pause_is_one_transaction(postgres, proxy, connect, rival):
    session = connect(proxy)
    session.send(P("select $1::int"), B(["7"]))
    assert session.quiet(0.2) is None
    session.send(D(), E(), S)
    assert answers(session.until("Z")) == [("7", "I")]


def test_64_mb_of_pipelined_inserts_are_written_before_anything_is_read(postgres, proxy, connect):
    """Whoever stops reading because nobody reads its answers would hang here."""
    postgres.empty_tables()
    session = connect(proxy)
    text = "x" * 60_000
    count = 500
    session.send(
        *(query_batch("insert into t values (1, $1) returning b", [text]) for _ in range(count)),
        within=60,
    )
    got = session.until("Z", count, within=60)
    assert sum(msg.kind == "D" for msg in got) == count
    assert postgres.count("select count(*) from t") == count
    postgres.empty_tables()
