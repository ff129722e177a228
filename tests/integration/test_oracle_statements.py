"""Extended protocol: portals, and named and unnamed statements."""

import pytest

from support.messages import B, C, D, E, H, P, Q, S, batch, query_batch
from support.oracle import Z, case, compare, upto


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


PORTALS = [
    case("a row limit suspends", P("select generate_series(1, 5)") + B() + E(2) + S, Z),
    case(
        "a suspended portal goes on before the Sync",
        P("select generate_series(1, 5)") + B() + E(2) + E(2) + E(2) + S,
        Z,
    ),
    case(
        "a suspended portal goes on after a flush",
        P("select generate_series(1, 5)") + B() + E(2) + H,
        upto("s"),
        E(2) + H,
        upto("s"),
        E(2) + S,
        Z,
    ),
    case(
        "a suspended portal dies at the Sync",
        P("select generate_series(1, 5)") + B() + E(2) + S,
        Z,
        E(2) + S,
        Z,
    ),
    case(
        "a suspended portal lives in a transaction",
        Q("begin"),
        Z,
        P("select generate_series(1, 5)") + B(portal="p") + E(2, "p") + S,
        Z,
        E(2, "p") + S,
        Z,
        E(9, "p") + S,
        Z,
        Q("commit"),
        Z,
    ),
    case(
        "a limit that is reached exactly",
        P("select generate_series(1, 2)") + B() + E(2) + E(2) + S,
        Z,
    ),
    case(
        "two portals at once",
        P("select generate_series(1, 4)")
        + B(portal="p")
        + B(portal="q")
        + E(1, "p")
        + E(1, "q")
        + E(1, "p")
        + S,
        Z,
    ),
    case("a portal that is bound twice", P("select 1 + 0") + B(portal="p") + B(portal="p") + S, Z),
    case(
        "an insert with a limit",
        P("insert into t select generate_series(1, 5) returning a") + B() + E(2) + S,
        Z,
    ),
    case("execute of a finished portal", batch("select 1 + 0") + E() + S, Z),
    case("execute of an unknown portal", E(0, "nope") + S, Z),
    case(
        "close of a portal, then its execute",
        P("select 1 + 0") + B(portal="p") + C("P", "p") + E(0, "p") + S,
        Z,
    ),
    case(
        "a cursor in SQL",
        Q("begin; declare c cursor for select generate_series(1, 5)"),
        Z,
        Q("fetch 2 c"),
        Z,
        query_batch("fetch 2 c"),
        Z,
        Q("close c; commit"),
        Z,
    ),
    case(
        "a portal of SQL's cursor, executed",
        Q("begin; declare c cursor for select generate_series(1, 5)"),
        Z,
        D("P", "c") + E(2, "c") + S,
        Z,
        Q("rollback"),
        Z,
    ),
]

UNKNOWN = [
    case("close of an unknown statement and portal", C("S", "nope") + C("P", "nope") + S, Z),
    case("bind of an unknown statement", B(statement="nope") + E() + S, Z),
    case("describe of an unknown statement", D("S", "nope") + S, Z),
    case("describe of an unknown portal", D("P", "nope") + S, Z),
    case("bind of the unnamed statement when there is none", B() + E() + S, Z),
    case("close of the unnamed statement", P("select 1 + 0") + C("S") + B() + S, Z),
    case(
        "an unknown statement fails a transaction",
        Q("begin"),
        Z,
        B(statement="nope") + S,
        Z,
        Q("select 1 + 0"),
        Z,
    ),
]

STATEMENTS = [
    case(
        "a named statement lives over a Sync",
        P("select $1::int", "one") + S,
        Z,
        B(["1"], "one") + E() + S,
        Z,
        B(["2"], "one") + D() + E() + S,
        Z,
    ),
    case("a named statement that exists", P("select 1 + 0", "one") + P("select 2", "one") + S, Z),
    case(
        "a named statement after its close",
        P("select 1 + 0", "one") + S,
        Z,
        C("S", "one") + P("select 2", "one") + B(statement="one") + E() + S,
        Z,
    ),
    case(
        "a failed Parse leaves no name",
        P("selec 1", "one") + S,
        Z,
        B(statement="one") + S,
        Z,
        P("select 7", "one") + B(statement="one") + E() + S,
        Z,
    ),
    case(
        "a named statement of a failed batch",
        P("select 1 + 0", "one") + batch("select 1/0") + S,
        Z,
        B(statement="one") + E() + S,
        Z,
    ),
    case(
        "a named statement survives a rollback",
        Q("begin"),
        Z,
        P("select 5", "keep") + S,
        Z,
        Q("rollback"),
        Z,
        B(statement="keep") + E() + S,
        Z,
    ),
    case(
        "a close in a failed transaction",
        P("select 5", "keep") + S,
        Z,
        Q("begin"),
        Z,
        Q("select 1/0"),
        Z,
        C("S", "keep") + S,
        Z,
        Q("rollback"),
        Z,
        B(statement="keep") + S,
        Z,
    ),
    case(
        "closing a portal keeps the statement of that name",
        P("select 1 + 0", "a")
        + B(statement="a", portal="a")
        + C("P", "a")
        + B(statement="a")
        + E()
        + S,
        Z,
    ),
    case(
        "deallocate all",
        P("select 1 + 0", "one") + S,
        Z,
        Q("deallocate all"),
        Z,
        B(statement="one") + S,
        Z,
    ),
    case(
        "deallocate all before a Parse in one batch",
        batch("deallocate all") + P("select 2", "two") + S,
        Z,
        B(statement="two") + E() + S,
        Z,
    ),
    case(
        "discard all", P("select 1 + 0", "one") + S, Z, Q("DISCARD ALL"), Z, B(statement="one") + S, Z
    ),
    case(
        "prepare and execute in SQL",
        Q("prepare one as select $1::int"),
        Z,
        Q("execute one(5)"),
        Z,
        query_batch("execute one(6)"),
        Z,
        Q("deallocate one"),
        Z,
        Q("execute one(7)"),
        Z,
    ),
    case(
        "a statement of SQL is bound",
        Q("prepare one as select 5"),
        Z,
        B(statement="one") + E() + S,
        Z,
    ),
    case(
        "a plan whose result type changed",
        Q("create temp table tt (a int)"),
        Z,
        P("select * from tt", "one") + S,
        Z,
        B(statement="one") + E() + S,
        Z,
        Q("alter table tt add column b int"),
        Z,
        B(statement="one") + E() + S,
        Z,
        C("S", "one") + P("select * from tt", "one") + S,
        Z,
        B(statement="one") + E() + S,
        Z,
    ),
    case(
        "the unnamed statement survives a Sync",
        P("select $1::int") + D("S") + S,
        Z,
        B(["1"]) + E() + S,
        Z,
    ),
    case(
        "the unnamed statement is bound in two later batches",
        P("select 7") + S,
        Z,
        B() + E() + S,
        Z,
        B() + E() + S,
        Z,
    ),
    case(
        "the unnamed statement dies by a query",
        P("select 1 + 0") + S,
        Z,
        Q("select 2"),
        Z,
        B() + E() + S,
        Z,
    ),
    case(
        "the unnamed statement dies by a Parse",
        P("select 1 + 0") + S,
        Z,
        P("select 2") + S,
        Z,
        B() + E() + S,
        Z,
    ),
    case(
        "the unnamed statement dies by a failed Parse",
        P("select 1 + 0") + S,
        Z,
        P("selec") + S,
        Z,
        B() + E() + S,
        Z,
    ),
    case(
        "the unnamed statement survives a failed Bind",
        P("select $1::int") + S,
        Z,
        B(["x"]) + S,
        Z,
        B(["1"]) + E() + S,
        Z,
    ),
    case(
        "the unnamed statement is described later", P("select $1::int as n") + S, Z, D("S") + S, Z
    ),
]

LONG_NAMES = [
    case(
        f"names of {size} bytes",
        P("select 1 + 0", "s" * size)
        + B(statement="s" * size, portal="p" * size)
        + D("P", "p" * size)
        + E(0, "p" * size)
        + C("P", "p" * size)
        + C("S", "s" * size)
        + S,
        Z,
    )
    for size in (64, 5_000, 100_000)
]


@pytest.mark.parametrize("made", PORTALS + UNKNOWN + STATEMENTS + LONG_NAMES)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)
