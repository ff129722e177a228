"""BEGIN as drivers send it, and each message of the extended protocol around it."""

import pytest

from support.messages import B, C, D, E, H, P, Q, S, batch, query_batch
from support.oracle import Z, case, compare, quiet, ready, upto


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


DRIVERS = [
    case(
        "pgjdbc since 42.7.7: a query BEGIN and a batch in one write",
        Q("BEGIN") + query_batch("insert into t values ($1)", ["1"]),
        ready(2),
        Q("COMMIT"),
        Z,
    ),
    case(
        "pgjdbc before: BEGIN and the statement before one Sync",
        batch("BEGIN") + P("insert into t values ($1)") + B(["1"]) + D() + E(1) + S,
        Z,
        batch("COMMIT") + S,
        Z,
    ),
    case(
        "npgsql: reset, BEGIN and a batch in one write",
        Q("DISCARD ALL")
        + Q("BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED")
        + query_batch("select 1 + 0"),
        ready(3),
        Q("COMMIT"),
        Z,
    ),
    case(
        "pgjdbc autosave",
        Q("BEGIN") + Q("SAVEPOINT PGJDBC_AUTOSAVE") + query_batch("insert into t values (1)"),
        ready(3),
        Q("RELEASE SAVEPOINT PGJDBC_AUTOSAVE"),
        Z,
        Q("COMMIT"),
        Z,
    ),
    case(
        "pgx",
        Q("begin isolation level serializable read only deferrable"),
        Z,
        P("select $1::int", "stmtcache_1") + D("S", "stmtcache_1") + S,
        Z,
        B(["1"], "stmtcache_1") + D() + E() + S,
        Z,
        Q("commit"),
        Z,
    ),
    case(
        "django nested atomic",
        Q("BEGIN"),
        Z,
        Q('SAVEPOINT "s1_x1"'),
        Z,
        Q("insert into t values (1)"),
        Z,
        Q('RELEASE SAVEPOINT "s1_x1"'),
        Z,
        Q("COMMIT"),
        Z,
    ),
    case(
        "tokio-postgres: a dropped transaction",
        Q("START TRANSACTION"),
        Z,
        Q("ROLLBACK"),
        Z,
        Q("ROLLBACK"),
        Z,
    ),
    case(
        "node pipeline",
        Q("BEGIN") + query_batch("insert into t values (1)") + Q("COMMIT"),
        ready(3),
    ),
]

MESSAGES = [
    case(
        "describe of statement and portal of begin",
        P("begin") + D("S") + B() + D("P") + E() + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "describe of statement and portal of commit",
        Q("begin"),
        Z,
        P("commit") + D("S") + B() + D("P") + E() + S,
        Z,
    ),
    case(
        "flushes between the messages of begin",
        P("begin") + H,
        upto("1"),
        B() + H,
        upto("2"),
        E() + H,
        upto("C"),
        S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "begin and a flush, then the statement",
        batch("begin") + H,
        upto("C"),
        batch("insert into t values (1)") + H,
        upto("C", 1),
        batch("commit") + S,
        Z,
    ),
    case(
        "a named begin",
        P("begin", "b") + P("commit", "c") + S,
        Z,
        B(statement="b") + E() + S,
        Z,
        Q("insert into t values (1)"),
        Z,
        B(statement="c") + E() + S,
        Z,
        B(statement="b") + D() + E() + S,
        Z,
        B(statement="c") + E() + S,
        Z,
    ),
    case(
        "a named portal of begin",
        P("begin") + B(portal="p") + D("P", "p") + E(0, "p") + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case("close of the begin statement", P("begin", "b") + C("S", "b") + B(statement="b") + S, Z),
    case("close of the begin portal", P("begin") + B(portal="p") + C("P", "p") + E(0, "p") + S, Z),
    case("begin with parameters", P("begin") + B(["1"]) + E() + S, Z),
    case("begin with a row limit", P("begin") + B() + E(1) + S, Z, Q("rollback"), Z),
    case(
        "begin with declared types",
        P("begin", oids=[23]) + D("S") + B(["1"]) + E() + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case("begin with result formats", P("begin") + B(results=[1]) + E() + S, Z, Q("rollback"), Z),
    case("begin executed twice", P("begin") + B() + E() + E() + S, Z, Q("rollback"), Z),
    case("begin parsed, never executed", P("begin") + B() + D() + S, Z, Q("select 1 + 0"), Z),
    case(
        "begin parsed now, executed later",
        P("begin") + S,
        Z,
        B() + E() + S,
        Z,
        Q("insert into t values (1)"),
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "the unnamed begin dies by a query", P("begin") + S, Z, Q("select 1 + 0"), Z, B() + E() + S, Z
    ),
    case(
        "a statement of the block parsed before begin",
        P("insert into t values (1)", "ins") + S,
        Z,
        Q("begin"),
        Z,
        B(statement="ins") + E() + S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "a query behind begin in one batch",
        batch("begin") + Q("insert into t values (1)"),
        Z,
        S,
        Z,
        Q("rollback"),
        Z,
    ),
    case(
        "an error behind begin skips to the Sync",
        batch("begin") + B(statement="nope") + batch("select 1 + 0") + S,
        Z,
    ),
    case("a bad Parse behind begin", batch("begin") + P("selec") + S, Z, query_batch("commit"), Z),
    case(
        "an error before begin in a batch",
        batch("select 1/0") + batch("begin") + S,
        Z,
        Q("insert into t values (1)"),
        Z,
    ),
    case("begin, then silence", Q("begin"), Z, quiet(0.2), Q("commit"), Z),
    case(
        "200 blocks in one write",
        b"".join(Q("begin") + Q(f"insert into t values ({i})") + Q("commit") for i in range(200)),
        ready(600),
    ),
    case("200 empty blocks in one write", (Q("begin") + Q("commit")) * 200, ready(400)),
    case(
        "local answers between slow ones",
        Q("select pg_sleep(0.1)")
        + Q("begin")
        + Q("")
        + Q("commit")
        + Q("select 1 + 0")
        + S
        + Q("rollback"),
        ready(7),
    ),
]


@pytest.mark.parametrize("made", DRIVERS + MESSAGES)
def test_what_drivers_send_answers_as_in_postgresql(postgres, proxy, made):
    compare(postgres, proxy, made)
