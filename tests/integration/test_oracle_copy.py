"""COPY in and out, by both protocols, whole and broken half way."""

import pytest

from support.deviations import LEFT_IN_COPY
from support.messages import B, CopyData, CopyDone, CopyFail, E, H, P, Q, S, batch, query_batch
from support.oracle import END, FIN, Z, case, compare, quiet, ready, upto

COPY_IN = "copy t from stdin"
ROWS = CopyData("1\tone\n") + CopyData("2\ttwo\n")
BAD = CopyData("no number\n")


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


SIMPLE_IN = [
    case("rows in", Q(COPY_IN), upto("G"), ROWS + CopyDone, Z),
    case("no rows in", Q(COPY_IN), upto("G"), CopyDone, Z),
    case("everything in one write", Q(COPY_IN) + ROWS + CopyDone, Z),
    case(
        "a row cut in two messages",
        Q(COPY_IN),
        upto("G"),
        CopyData("1\to") + CopyData("ne\n") + CopyDone,
        Z,
    ),
    case("an empty data message", Q(COPY_IN), upto("G"), CopyData("") + ROWS + CopyDone, Z),
    case(
        "10,000 data messages",
        Q(COPY_IN),
        upto("G"),
        b"".join(CopyData(f"{i}\tx\n") for i in range(10_000)) + CopyDone,
        Z,
    ),
    case(
        "one data message of 5 MB",
        Q(COPY_IN),
        upto("G"),
        CopyData("1\tx\n" * 1_300_000) + CopyDone,
        Z,
        Q("truncate t"),
        Z,
    ),
    case("the client gives up", Q(COPY_IN), upto("G"), ROWS + CopyFail("no more"), Z),
    case("a bad row", Q(COPY_IN), upto("G"), ROWS + BAD + CopyDone, Z),
    case(
        "a bad row, and the rest comes late",
        Q(COPY_IN),
        upto("G"),
        BAD,
        Z,
        ROWS + CopyDone,
        Q("select 42"),
        Z,
    ),
    case(
        "a bad row, and the client gives up late",
        Q(COPY_IN),
        upto("G"),
        BAD,
        Z,
        CopyFail(),
        Q("select 42"),
        Z,
    ),
    case(
        "a bad row, and data with Sync and flush late",
        Q(COPY_IN),
        upto("G"),
        BAD,
        Z,
        CopyData("1\n") + CopyDone + S,
        Z,
    ),
    case(
        "Sync and flush among the data",
        Q(COPY_IN),
        upto("G"),
        CopyData("1\ta\n") + S + H + CopyData("2\tb\n") + CopyDone,
        Z,
    ),
    case("a query in the middle", Q(COPY_IN), upto("G"), ROWS + Q("select 1 + 0"), END, ends="closed"),
    case(
        "a Parse in the middle", Q(COPY_IN), upto("G"), ROWS + P("select 1 + 0") + S, END, ends="closed"
    ),
    case(
        "the client stops sending in the middle",
        Q(COPY_IN),
        upto("G"),
        ROWS,
        FIN,
        ends="closed",
        deviates=LEFT_IN_COPY,
        proxy_says=[
            r"G b'\x00\x00\x02\x00\x00\x00\x00'",
            "closed",
        ],
    ),
    case(
        "a copy between other statements",
        Q("select 1; copy t from stdin; select 2"),
        upto("G"),
        ROWS + CopyDone,
        Z,
    ),
    case(
        "a bad row between other statements",
        Q("insert into t values (9); copy t from stdin; select 2"),
        upto("G"),
        BAD + CopyDone,
        Z,
    ),
    case(
        "two copies in one text",
        Q("copy t from stdin; copy k from stdin"),
        upto("G"),
        ROWS + CopyDone,
        upto("G"),
        CopyData("5\n") + CopyDone,
        Z,
    ),
    case(
        "in a transaction", Q("begin"), Z, Q(COPY_IN), upto("G"), ROWS + CopyDone, Z, Q("commit"), Z
    ),
    case(
        "in a transaction that is rolled back",
        Q("begin"),
        Z,
        Q(COPY_IN),
        upto("G"),
        ROWS + CopyDone,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "a bad row in a transaction",
        Q("begin"),
        Z,
        Q(COPY_IN),
        upto("G"),
        BAD,
        Z,
        CopyDone,
        Q("select 1 + 0"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "as the first statement behind begin in one text",
        Q("begin; copy t from stdin"),
        upto("G"),
        ROWS + CopyDone,
        Z,
        Q("commit"),
        Z,
    ),
    case("into an unknown table", Q("copy nowhere from stdin"), Z),
    case(
        "a violated key at the end",
        Q("copy k from stdin"),
        upto("G"),
        CopyData("1\n1\n") + CopyDone,
        Z,
    ),
    case(
        "binary garbage",
        Q("copy t from stdin binary"),
        upto("G"),
        CopyData("not binary at all"),
        Z,
        CopyDone,
    ),
    case(
        "a key that is checked at the commit",
        Q("copy late from stdin"),
        upto("G"),
        CopyData("1\n1\n") + CopyDone,
        Z,
    ),
    case(
        "a query right behind",
        Q(COPY_IN),
        upto("G"),
        ROWS + CopyDone + Q("select count(*) from t"),
        ready(2),
    ),
]

SIMPLE_OUT = [
    case("rows out", Q("copy (select generate_series(1, 3)) to stdout"), Z),
    case("no rows out", Q("copy t to stdout"), Z),
    case("binary rows out", Q("copy (select 1, 'x'::text) to stdout binary"), Z),
    case("20,000 rows out", Q("copy (select generate_series(1, 20000)) to stdout"), Z),
    case(
        "an error half way",
        Q("copy (select 1 / (3 - g) from generate_series(1, 5) g) to stdout"),
        Z,
    ),
    case(
        "an error half way in a transaction",
        Q("begin"),
        Z,
        Q("copy (select 1 / (3 - g) from generate_series(1, 5) g) to stdout"),
        Z,
        Q("commit"),
        Z,
    ),
    case("out between other statements", Q("select 1; copy (select 2) to stdout; select 3"), Z),
    case("an unknown table", Q("copy nowhere to stdout"), Z),
    case("a file, which needs a right", Q("copy t to '/tmp/file'"), Z),
    case(
        "out and in",
        Q("copy (select 1 + 0) to stdout; copy t from stdin"),
        upto("G"),
        ROWS + CopyDone,
        Z,
    ),
]

EXTENDED = [
    case("rows in by a batch", batch(COPY_IN) + S, upto("G"), ROWS + CopyDone + S, Z),
    case(
        "a Sync before the data is eaten",
        batch(COPY_IN) + S,
        upto("G"),
        ROWS + CopyDone,
        quiet(0.3),
        S,
        Z,
    ),
    case("the Sync comes with the end", batch(COPY_IN) + H, upto("G"), ROWS + CopyDone + S, Z),
    case("the client gives up in a batch", batch(COPY_IN) + S, upto("G"), ROWS + CopyFail() + S, Z),
    case("a bad row in a batch", batch(COPY_IN) + S, upto("G"), BAD, upto("E"), CopyDone + S, Z),
    case(
        "a bad row in a batch, more data before the Sync",
        batch(COPY_IN) + S,
        upto("G"),
        BAD,
        upto("E"),
        ROWS + CopyDone,
        quiet(0.2),
        S,
        Z,
    ),
    case(
        "a statement behind the copy in a batch",
        batch(COPY_IN) + H,
        upto("G"),
        ROWS + CopyDone + batch("select 7") + S,
        Z,
    ),
    case(
        "a batch fails behind the copy",
        batch(COPY_IN) + H,
        upto("G"),
        ROWS + CopyDone + batch("select 1/0") + S,
        Z,
    ),
    case(
        "a query in the middle of a batch",
        batch(COPY_IN) + H,
        upto("G"),
        ROWS + Q("select 1 + 0"),
        END,
        ends="closed",
    ),
    case(
        "in a transaction by batches",
        query_batch("begin"),
        Z,
        batch(COPY_IN) + S,
        upto("G"),
        ROWS + CopyDone + S,
        Z,
        query_batch("commit"),
        Z,
    ),
    case(
        "begin and copy in one batch",
        batch("begin") + batch(COPY_IN) + H,
        upto("G"),
        ROWS + CopyDone + S,
        Z,
        Q("commit"),
        Z,
    ),
    case("rows out by a batch", batch("copy (select generate_series(1, 3)) to stdout") + S, Z),
    case("out by a described batch", query_batch("copy (select 1 + 0) to stdout"), Z),
    case(
        "out with a row limit",
        P("copy (select generate_series(1, 3)) to stdout") + B() + E(1) + S,
        Z,
    ),
    case(
        "an error half way out",
        batch("copy (select 1 / (3 - g) from generate_series(1, 5) g) to stdout")
        + batch("select 1 + 0")
        + S,
        Z,
    ),
    case(
        "an insert before the copy fails with it",
        batch("insert into t values (9)") + batch(COPY_IN) + H,
        upto("G"),
        BAD,
        upto("E"),
        S,
        Z,
    ),
]


@pytest.mark.parametrize("made", SIMPLE_IN + SIMPLE_OUT + EXTENDED)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)
