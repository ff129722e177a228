"""Extended protocol: batches, what an error skips, and what Sync and Flush bring out."""

import struct

import pytest

from support.messages import B, C, D, E, F, H, P, Q, S, batch, query_batch
from support.oracle import Z, case, compare, quiet, ready, upto

INT4, TEXT = 23, 25


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


def int4(value):
    return struct.pack("!i", value)


BATCHES = [
    case("parse, bind, describe, execute", query_batch("select 1 + 0"), Z),
    case("parse, bind, execute without a describe", batch("select 1 + 0") + S, Z),
    case("parameters", query_batch("select $1::int + $2::int, $3::text", ["40", "2", "x"]), Z),
    case("a null parameter", query_batch("select $1::text is null, $2::int", [None, "1"]), Z),
    case("an empty parameter", query_batch("select length($1::text)", [""]), Z),
    case(
        "binary parameters and results",
        P("select $1::int4, $2::int4", oids=[INT4, INT4])
        + B([int4(1), int4(2)], formats=[1], results=[1])
        + D()
        + E()
        + S,
        Z,
    ),
    case(
        "a format for each parameter and result",
        P("select $1::int4, $2::text")
        + B([int4(7), "x"], formats=[1, 0], results=[0, 1])
        + D()
        + E()
        + S,
        Z,
    ),
    case("too many result formats", P("select 1 + 0") + B(results=[0, 1, 0]) + E() + S, Z),
    case("declared types", P("select $1 || $2", oids=[TEXT, TEXT]) + B(["a", "b"]) + E() + S, Z),
    case("a type that cannot be told", P("select $1") + D("S") + S, Z),
    case("describe of a statement", P("select a, b from t where a = $1") + D("S") + S, Z),
    case(
        "describe of a statement without rows", P("insert into t values ($1, $2)") + D("S") + S, Z
    ),
    case(
        "describe of a portal without rows", P("insert into t values (1)") + B() + D() + E() + S, Z
    ),
    case("an empty query", query_batch(""), Z),
    case("an empty query without a describe", batch("") + S, Z),
    case("a comment", query_batch("-- ping"), Z),
    case(
        "an empty query between others", batch("select 1 + 0") + batch(" ;") + batch("select 2") + S, Z
    ),
    case("several statements in one Parse", query_batch("select 1; select 2"), Z),
    case("an insert", query_batch("insert into t values ($1, $2)", ["1", "a"]), Z),
    case(
        "two statements before one Sync",
        batch("insert into t values (1)") + batch("insert into t values (2)") + S,
        Z,
    ),
    case(
        "the second fails and undoes the first",
        batch("insert into k values (1)") + batch("insert into k values (1)") + S,
        Z,
    ),
    case("a key that is checked at the Sync", batch("insert into late values (1), (1)") + S, Z),
    case(
        "a key that is checked at the Sync, after other rows",
        batch("select 1 + 0") + batch("insert into late values (1), (1)") + batch("select 2") + S,
        Z,
    ),
    case("a notice in a batch", query_batch("select say('hello')"), Z),
    case("a row of 5 MB", query_batch("select repeat('x', 5000000)"), Z),
    case("a parameter of 5 MB", query_batch("select length($1::text)", ["x" * 5_000_000]), Z),
    case("a utility that wants no transaction block", query_batch("vacuum t"), Z),
    case(
        "100 batches in one write",
        b"".join(query_batch(f"select {i}") for i in range(100)),
        ready(100),
    ),
    case(
        "an error among 20 batches",
        b"".join(query_batch(f"select 10 / ({i} - 10)") for i in range(20)),
        ready(20),
    ),
]

ERRORS = [
    case("a failing Parse", query_batch("selec 1"), Z),
    case("a failing Bind", P("select $1::int") + B(["no number"]) + D() + E() + S, Z),
    case("a failing Execute", query_batch("select 1/0"), Z),
    case(
        "a failing Execute after rows",
        batch("select 1 / (3 - g) from generate_series(1, 5) g") + S,
        Z,
    ),
    case(
        "all behind an error is skipped",
        batch("select 1/0") + query_batch("insert into t values (1)"),
        Z,
    ),
    case(
        "a query behind an error is skipped until the Sync",
        batch("select 1/0") + Q("insert into t values (1)"),
        upto("E"),
        quiet(0.3),
        S,
        Z,
    ),
    case("a close behind an error is skipped", batch("select 1/0") + C("S", "x") + D("S") + S, Z),
    case(
        "a flush behind an error gives nothing more",
        batch("select 1/0") + H,
        upto("E"),
        H,
        quiet(0.1),
        S,
        Z,
    ),
    case(
        "two errors, two batches",
        query_batch("select 1/0") + query_batch("selec") + query_batch("select 1 + 0"),
        ready(3),
    ),
    case("an error, then a Sync in its own write", batch("select 1/0"), upto("E"), S, Z),
    case("a query ends a batch without a Sync", batch("select 1 + 0") + Q("select 2"), Z, S, Z),
    case(
        "a query and a Sync end a batch",
        batch("insert into t values (1)") + Q("select 2") + S,
        ready(2),
    ),
    case(
        "a batch before a query before an error",
        batch("insert into t values (1)") + Q("select 1/0") + S,
        ready(2),
    ),
    case("a function call ends a batch without a Sync", batch("select 1 + 0") + F(177, 1, 2), Z, S, Z),
]

SYNCS = [
    case("a Sync alone", S, Z),
    case("three Syncs", S + S + S, ready(3)),
    case("Syncs between queries", S + Q("select 1 + 0") + S + query_batch("select 2") + S, ready(5)),
    case("a Sync in a transaction", Q("begin"), Z, S, Z, Q("select 1 + 0"), Z, S, Z, Q("commit"), Z),
    case(
        "a Sync in a failed transaction", Q("begin"), Z, Q("select 1/0"), Z, S, Z, Q("rollback"), Z
    ),
    case(
        "a write that begins with a Sync",
        query_batch("select 1 + 0")[:-5],
        S + query_batch("select 2"),
        ready(2),
    ),
]

FLUSHES = [
    case(
        "replies after each flush",
        P("select $1::int") + D("S") + H,
        upto("T"),
        B(["7"]) + E() + H,
        upto("C"),
        S,
        Z,
    ),
    case(
        "parse, flush, bind, flush, execute, flush",
        P("select 1 + 0") + H,
        upto("1"),
        B() + H,
        upto("2"),
        E() + H,
        upto("C"),
        S,
        Z,
    ),
    case(
        "a flush before the Sync commits nothing",
        batch("insert into t values (1)") + H,
        upto("C"),
        quiet(0.1),
        S,
        Z,
    ),
    case(
        "a flushed insert whose batch fails later",
        batch("insert into t values (1)") + H,
        upto("C"),
        batch("select 1/0") + S,
        Z,
    ),
    case(
        "a flushed batch that goes on with a query",
        batch("insert into t values (1)") + H,
        upto("C"),
        Q("select 1/0"),
        Z,
        S,
        Z,
    ),
    case("parts with a pause between", P("select 1 + 0") + B(), quiet(0.2), E() + S, Z),
    case("a flush after a Parse error", P("selec") + H, upto("E"), B() + E() + H, quiet(0.1), S, Z),
]


TRANSACTIONS = [
    case(
        "savepoints",
        Q("begin"),
        Z,
        Q("savepoint a"),
        Z,
        Q("insert into t values (1)"),
        Z,
        Q("select 1/0"),
        Z,
        Q("rollback to a"),
        Z,
        Q("insert into t values (2)"),
        Z,
        Q("release a"),
        Z,
        Q("commit"),
        Z,
    ),
    case(
        "savepoints in batches",
        query_batch("begin"),
        Z,
        query_batch("select 1 + 0"),
        Z,
        query_batch("savepoint a"),
        Z,
        query_batch("select 1/0"),
        Z,
        query_batch("rollback to savepoint a"),
        Z,
        query_batch("commit"),
        Z,
    ),
    case(
        "a rollback to an unknown savepoint",
        Q("begin; select 1 + 0"),
        Z,
        Q("rollback to nope"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "a Parse in a failed transaction",
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        P("select 1 + 0") + S,
        Z,
        P("rollback") + B() + E() + S,
        Z,
    ),
    case(
        "a Bind in a failed transaction",
        P("select 1 + 0", "one") + S,
        Z,
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        B(statement="one") + E() + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "commit of a failed transaction by a prepared statement",
        P("commit", "c") + S,
        Z,
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        B(statement="c") + E() + S,
        Z,
    ),
    case(
        "begin and work and commit before one Sync",
        batch("begin") + batch("insert into t values (1)") + batch("commit") + S,
        Z,
    ),
    case(
        "begin and an error and commit before one Sync",
        batch("begin") + batch("select 1/0") + batch("commit") + S,
        Z,
        query_batch("commit"),
        Z,
    ),
    case(
        "two blocks before one Sync",
        batch("begin")
        + batch("insert into t values (1)")
        + batch("commit")
        + batch("begin")
        + batch("insert into t values (2)")
        + batch("rollback")
        + S,
        Z,
    ),
    case(
        "work before begin in one batch",
        batch("insert into t values (1)") + batch("begin") + batch("insert into t values (2)") + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "an insert behind commit in one batch, undone by an error",
        batch("begin")
        + batch("insert into t values (1)")
        + batch("commit")
        + batch("insert into t values (2)")
        + batch("select 1/0")
        + S,
        Z,
    ),
]


@pytest.mark.parametrize("made", BATCHES + ERRORS + SYNCS + FLUSHES + TRANSACTIONS)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)
