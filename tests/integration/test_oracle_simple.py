"""Simple protocol: the same bytes give the same messages."""

import pytest

from support.messages import (
    CopyData,
    CopyDone,
    CopyFail,
    E,
    F,
    H,
    P,
    B,
    Q,
    S,
    X,
    batch,
    message,
    query_batch,
)
from support.oracle import END, Z, case, compare, quiet, ready, upto

INT4PL = 177  # int4pl(int4, int4)
INT4DIV = 154
REPEAT = 1622  # repeat(text, int4)


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


def many(count, text):
    return b"".join(Q(text.format(i=i)) for i in range(count))


QUERIES = [
    case("one row", Q("select 1 as one, 'two' as two, null as three"), Z),
    case("no row", Q("select 1 where false"), Z),
    case("many rows", Q("select g, repeat('x', g) from generate_series(1, 500) g"), Z),
    case("no columns", Q("select from t"), Z),
    case("an insert", Q("insert into t values (1, 'a'), (2, 'b')"), Z),
    case("an insert that returns rows", Q("insert into t values (1, 'a') returning *"), Z),
    case("an update of nothing", Q("update t set a = 1"), Z),
    case("a syntax error", Q("selec 1"), Z),
    case("an error with position, detail and hint", Q("select nope from t"), Z),
    case("an error after some rows", Q("select 1 / (3 - g) from generate_series(1, 5) g"), Z),
    case("a violated key", Q("insert into k values (1); insert into k values (1)"), Z),
    case("a violated key that is checked at the commit", Q("insert into late values (1), (1)"), Z),
    case("an unknown table, then a good query", Q("select * from nowhere"), Z, Q("select 1 + 0"), Z),
    case(
        "text in quotes, dollars and comments",
        Q("select 'be''gin;', $$commit;$$ /* rollback; */ -- begin"),
        Z,
    ),
    case("100 queries in one write", many(100, "select {i}"), ready(100)),
    case(
        "an error in the middle of many", Q("select 1 + 0") + Q("select 1/0") + Q("select 2"), ready(3)
    ),
    case("a query of 300 kB", Q("select length('" + "x" * 300_000 + "')"), Z),
    case("a field of 5 MB", Q("select repeat('x', 5000000)"), Z),
    case("10,000 rows", Q("select g from generate_series(1, 10000) g"), Z),
    case("explain", Q("explain (costs off) select * from t"), Z),
    case("a utility that wants no transaction block", Q("vacuum t"), Z),
    case("a utility in a multi-statement query", Q("select 1; vacuum t"), Z),
    case("an UTF-8 text", Q("select 'ä', '🐘'"), Z),
    case("an invalid UTF-8 text", Q(b"select '\xff'"), Z),
]

EMPTY = [
    case("an empty query", Q(""), Z),
    case("blanks only", Q("  \n\t "), Z),
    case("a semicolon", Q(";"), Z),
    case("several semicolons", Q(" ; ;; "), Z),
    case("a line comment", Q("-- ping"), Z),
    case("a block comment", Q("/* ping */"), Z),
    case("a nested block comment", Q("/* a /* b */ c */"), Z),
    case("a comment that does not end", Q("/* ping"), Z),
    case("an empty query in a transaction", Q("begin"), Z, Q(""), Z, Q("select 1 + 0"), Z, Q(""), Z),
    case(
        "an empty query in a failed transaction",
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        Q(""),
        Z,
        Q(";"),
        Z,
    ),
    case("empty statements between others", Q(";;select 1;;select 2;;"), Z),
    case(
        "three pings behind a query in one write",
        Q("select 1 + 0") + Q("") + Q(";") + Q("-- ping"),
        ready(4),
    ),
]

MULTI = [
    case("two statements", Q("select 1; select 2"), Z),
    case(
        "an error in the second undoes the first",
        Q("insert into t values (1); select 1/0; select 3"),
        Z,
    ),
    case("a syntax error anywhere runs nothing", Q("insert into t values (1); selec"), Z),
    case("begin, select, commit", Q("begin; select 1; commit"), Z),
    case("begin, insert, commit", Q("begin; insert into t values (1); commit"), Z),
    case("begin, insert, rollback", Q("begin; insert into t values (1); rollback"), Z),
    case("rollback in the middle", Q("select 1; rollback; select 2"), Z),
    case("commit in the middle", Q("insert into t values (1); commit; select 1/0"), Z),
    case(
        "an insert before a rollback",
        Q("insert into t values (1); rollback; insert into t values (2)"),
        Z,
    ),
    case(
        "begin left open",
        Q("begin; insert into t values (1)"),
        Z,
        Q("insert into t values (2)"),
        Z,
        Q("commit"),
        Z,
    ),
    case(
        "begin left open, then rolled back",
        Q("begin; insert into t values (1)"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "begin behind a statement",
        Q("insert into t values (1); begin; select 2"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "an error behind begin", Q("begin; select 1/0; commit"), Z, Q("select 1 + 0"), Z, Q("commit"), Z
    ),
    case(
        "commit and a new begin",
        Q("begin; insert into t values (1); commit; begin; insert into t values (2)"),
        Z,
        Q("rollback"),
        Z,
    ),
    case("commit and chain", Q("begin; select 1; commit and chain; select 2"), Z, Q("commit"), Z),
    case("a savepoint outside a block", Q("savepoint a; select 1 + 0"), Z),
    case(
        "a savepoint in a block",
        Q("begin; savepoint a; insert into t values (1); rollback to a; commit"),
        Z,
    ),
    case("end closes an open block", Q("begin"), Z, Q("select 1; end; select 2"), Z),
    case(
        "a set local",
        Q("begin; set local work_mem = '1MB'; show work_mem; commit; show work_mem"),
        Z,
    ),
    case("two blocks in one text", Q("begin; select 1; commit; begin; select 2; commit"), Z),
    case(
        "an error in the second block",
        Q("begin; insert into t values (1); commit; begin; select 1/0; commit"),
        Z,
    ),
]

MESSAGES = [
    case("a notice", Q("select say('hello')"), Z),
    case(
        "100 notices",
        Q("do $$ begin for i in 1..100 loop raise notice 'n %', i; end loop; end $$"),
        Z,
    ),
    case("a warning", Q("set work_mem = '1MB'; set local work_mem = '2MB'"), Z),
    case(
        "a notice before an error",
        Q("select say('hello'), 1/0 from t right join (select) x on true"),
        Z,
    ),
    case("parameters reported on set", Q("set datestyle = 'SQL, DMY'"), Z, Q("show datestyle"), Z),
    case(
        "parameters reported on rollback",
        Q("begin; set timezone = 'Asia/Tokyo'"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "parameters reported at the end of set local",
        Q("begin; set local timezone = 'Asia/Tokyo'"),
        Z,
        Q("commit"),
        Z,
    ),
    case(
        "a notification to oneself",
        Q("listen ch"),
        Z,
        Q("notify ch, 'payload'"),
        Z,
        Q("unlisten ch"),
        Z,
    ),
    case(
        "a notification in a transaction",
        Q("listen ch"),
        Z,
        Q("begin; notify ch; select 1 + 0"),
        Z,
        Q("commit"),
        Z,
    ),
]

FUNCTION_CALLS = [
    case("a function call", F(INT4PL, 40, 2), Z),
    case("a function call that fails", F(INT4DIV, 1, 0), Z),
    case("an unknown function", F(987654, 1), Z),
    case("a function call in a transaction", Q("begin"), Z, F(INT4PL, 40, 2), Z, Q("commit"), Z),
    case(
        "a function call in a failed transaction",
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        F(INT4PL, 1, 2),
        Z,
    ),
    case(
        "a function call that fails a transaction",
        Q("begin"),
        Z,
        F(INT4DIV, 1, 0),
        Z,
        Q("select 1 + 0"),
        Z,
    ),
    case(
        "a function call in a failed batch is skipped", batch("select 1/0") + F(INT4PL, 1, 2) + S, Z
    ),
    case(
        "a function call between queries",
        Q("select 1 + 0") + F(INT4PL, 40, 2) + Q("select 2"),
        ready(3),
    ),
    case("a reply of 2 MB", F(REPEAT, "x", 2_000_000), Z),
    case("a function call behind a batch", query_batch("select 1 + 0") + F(INT4PL, 40, 2), ready(2)),
    case("a malformed function call", message("F", b"\0\0\0\xb1\0\0\0\2"), Z),
]

MALFORMED = [
    case("an unknown message type", message("~"), END, ends="closed"),
    case("a query without its NUL", message("Q", b"select 1 + 0"), Z),
    case("a query with bytes behind its NUL", message("Q", b"select 1\0junk"), Z),
    case("a query without a body", message("Q"), Z),
    case("an empty query with bytes behind it", message("Q", b"\0\0\0"), Z),
    case("a Parse without its body", message("P") + S, Z),
    case("a Parse that announces 65535 types", message("P", b"\0select 1\0\xff\xff") + S, Z),
    case("a Parse with bytes behind its end", message("P", b"\0select 1\0\0\0junk") + S, Z),
    case(
        "a Bind whose parameter is longer than the message",
        P("select $1::text") + message("B", b"\0\0\0\0\0\1\x7f\xff\xff\xf0ab") + S,
        Z,
    ),
    case(
        "a Bind with a negative length",
        P("select $1::text") + message("B", b"\0\0\0\0\0\1\xff\xff\xff\xfeab\0\0") + S,
        Z,
    ),
    case(
        "a Bind of a wrong number of parameters", P("select $1::text") + B(["a", "b"]) + E() + S, Z
    ),
    case("a Describe of an unknown kind", message("D", b"X\0") + S, Z),
    case("a Close of an unknown kind", message("C", b"X\0") + S, Z),
    case("an Execute without its row limit", batch("select 1 + 0") + message("E", b"\0") + S, Z),
    case("a Sync with a body", message("S", b"junk"), Z),
    case("a Flush with a body", message("H", b"junk") + S, Z),
    case(
        "a malformed query in a transaction",
        Q("begin; select 1 + 0"),
        Z,
        message("Q", b"select 1 + 0"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "a malformed query right after begin",
        Q("begin"),
        Z,
        message("Q", b"select 1 + 0"),
        Z,
        Q("rollback"),
        Z,
    ),
    case("a password message in a session", message("p", b"secret\0"), END, ends="closed"),
    case("a length below four", b"Q\0\0\0\3", END, ends="closed"),
    case("a negative length", b"Q\xff\xff\xff\xff", END, ends="closed"),
    case("a length beyond every bound", b"S\x7f\xff\xff\xff", END, ends="closed"),
]

STRAY = [
    case("copy data outside a copy", CopyData("1\n"), quiet(0.1), Q("select 1 + 0"), Z),
    case("copy done outside a copy", CopyDone, quiet(0.1), Q("select 1 + 0"), Z),
    case("copy fail outside a copy", CopyFail(), quiet(0.1), Q("select 1 + 0"), Z),
    case(
        "copy messages in a transaction",
        Q("begin"),
        Z,
        CopyData("1\n") + CopyDone,
        Q("select 1 + 0"),
        Z,
        Q("commit"),
        Z,
    ),
    case("a flush alone", H, quiet(0.1), Q("select 1 + 0"), Z),
    case("terminate", X, END, ends="closed"),
    case("terminate behind a query", Q("insert into t values (1)") + X, Z, END, ends="closed"),
    case(
        "terminate behind three queries",
        many(3, "insert into t values ({i})") + X,
        ready(3),
        END,
        ends="closed",
    ),
    case("bytes behind a terminate", X + Q("insert into t values (1)"), upto("Z"), ends="any"),
]

TWO_PHASE = [
    case(
        "prepare transaction and commit prepared",
        Q("begin; insert into t values (1)"),
        Z,
        Q("prepare transaction 'one'"),
        Z,
        Q("commit prepared 'one'"),
        Z,
    ),
    case(
        "prepare transaction and rollback prepared",
        Q("begin; insert into t values (1); prepare transaction 'two'"),
        Z,
        Q("rollback prepared 'two'"),
        Z,
    ),
    case("prepare transaction outside a block", Q("prepare transaction 'three'"), Z),
    case(
        "prepare transaction in a failed block",
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        Q("prepare transaction 'four'"),
        Z,
    ),
    case("commit prepared of an unknown one", Q("commit prepared 'nope'"), Z),
]


@pytest.mark.parametrize(
    "made", QUERIES + EMPTY + MULTI + MESSAGES + FUNCTION_CALLS + MALFORMED + STRAY + TWO_PHASE
)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)


SIZES = sorted(
    {k * unit + d for unit in (4096, 16384, 65536) for k in (1, 2, 3) for d in range(-2, 3)}
)


def test_messages_around_the_sizes_of_buffers_pass_both_ways(postgres, proxy, connect):
    """A message that fills a buffer exactly must neither stall nor lose a byte."""
    session = connect(proxy)
    for size in SIZES:
        around = len("select ''") + 6
        assert session.value("select '" + "x" * (size - around) + "'") == "x" * (size - around)


def test_a_field_of_64_mb_passes_both_ways(proxy, connect):
    text = "x" * (64 << 20)
    assert connect(proxy).value(f"select '{text}'", within=60) == text
