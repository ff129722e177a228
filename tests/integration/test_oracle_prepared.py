"""Prepared statements as several backends and other clients see them: each answer as PostgreSQL's.

Every script runs with a neighbour who works on the same small pool, so that a later batch of the
script meets a backend that does not know its statements, or that knows another's.
"""

import pytest

from support.messages import B, C, D, E, H, P, Q, S
from support.oracle import Z, case, compare, ready, upto

X7 = "select 7 as seven"
TABLE = "create table if not exists wide (a int); truncate wide; insert into wide values (1)"
DELETE = "delete from pg_description where objoid = $1 and false"


def run(name="", params=()):
    return B(params, name) + E() + S


NAMED = [
    case("parse, then bind in later batches", P(X7, "a") + S, Z, run("a"), Z, run("a"), Z),
    case("a lone parse of a text that is known", P(X7, "a") + S, Z, P(X7, "b") + S, Z, run("b"), Z,
         D("S", "b") + S, Z, P(X7, "b") + S, Z, C("S", "b") + S, Z, run("b"), Z),
    case("the same in a block", P(X7, "a") + S, Z, Q("begin"), Z, P(X7, "b") + S, Z, run("b"), Z,
         Q("select 1/0"), Z, run("b"), Z, Q("rollback"), Z, run("b"), Z),
    case("the same, described or executed by name first", P(X7, "a") + S, Z, P(X7, "b") + S, Z,
         D("S", "b") + H + S, Z, P("select 8", "c") + S, Z, P("select 8", "d") + S, Z,
         Q("deallocate d"), Z, run("d"), Z, Q("deallocate all"), Z),
    case("describe in a later batch", P(X7, "a") + S, Z, D("S", "a") + S, Z, D("S", "a") + H + S, Z),
    case("two statements in one batch", P(X7, "a") + P("select 8", "b") + run("a"), Z, run("b"), Z),
    case("a name that is taken", P(X7, "a") + S, Z, P("select 8", "a") + S, Z, run("a"), Z),
    case("a name that is taken, in one batch", P(X7, "a") + P(X7, "a") + run("a"), Z, run("a"), Z),
    case("a taken name and a text that is wrong", P(X7, "a") + S, Z, P("selec", "a") + S, Z),
    case("a name that is taken by itself after close", P(X7, "a") + C("S", "a") + P("select 8", "a")
         + run("a"), Z, run("a"), Z),
    case("a failed parse leaves no name", P("selec 1", "a") + S, Z, run("a"), Z, P(X7, "a") + S, Z,
         run("a"), Z),
    case("close, then bind", P(X7, "a") + S, Z, C("S", "a") + S, Z, run("a"), Z),
    case("close of an unknown name", C("S", "nope") + C("P", "nope") + S, Z, Q("select 1 + 0"), Z),
    case("bind and describe of an unknown name", run("nope"), Z, D("S", "nope") + S, Z),
    case("a skipped close", P(X7, "a") + S, Z, B((), "nope") + C("S", "a") + S, Z, run("a"), Z),
    case("a skipped parse", B((), "nope") + P(X7, "a") + S, Z, run("a"), Z),
    case("a parse in a block that is rolled back", Q("begin"), Z, P(X7, "keep") + S, Z,
         Q("rollback"), Z, run("keep"), Z),
    case("close in a failed block", P(X7, "keep") + S, Z, Q("begin"), Z, Q("select 1/0"), Z,
         C("S", "keep") + S, Z, run("keep"), Z, Q("rollback"), Z, run("keep"), Z),
    case("wrong parameters in a failed block", P("select $1::int", "a") + S, Z, Q("begin"), Z,
         P("x", "a") + S, Z, run("a", (1, 2)), Z, run("a"), Z, run("a", (1,)), Z, run("nope"), Z,
         Q("rollback"), Z),
    case("wrong parameters behind a begin that was refused a name", P("select $1::int", "a") + S, Z,
         Q("begin"), Z, P("begin", "a") + S, Z, run("a", (1, 2)), Z, run("a", (1,)), Z,
         Q("rollback"), Z),
    case("a text that is none in a failed block", Q("begin"), Z, P("begin", "a") + P("begin", "a") + S, Z,
         Q("selec"), Z, P("select 1 from", "b") + S, Z, P("select 'x", "b") + S, Z, Q("select 1; selec"),
         Z, Q("rollback; selec"), Z, Q("select 1 + 0"), Z, Q("rollback"), Z),
    case("wrong parameters of what was parsed alone", P("select $1::int", "a") + S, Z, Q("begin"), Z,
         P("select $1::int", "b") + S, Z, Q("select 1/0"), Z, run("b"), Z, run("b", (1,)), Z,
         Q("rollback"), Z, run("b"), Z, run("b", (1,)), Z),
    case("described without rows in a failed block", P(DELETE, "a") + S, Z,
         P("deallocate all", "d") + S, Z, P("begin", "t") + S, Z, Q("begin"), Z, P("begin", "t") + S, Z,
         D("S", "a") + D("S", "d") + D("S", "t") + S, Z, D("S", "nope") + S, Z, run("a"), Z,
         Q("rollback"), Z, run("a", ("3",)), Z),
    case("the same of what was parsed alone", P(DELETE, "a") + P(X7, "t") + S, Z,
         P(DELETE, "b") + S, Z, P(X7, "c") + S, Z, Q("begin"), Z, P("begin", "t") + S, Z,
         D("S", "b") + S, Z, D("S", "c") + S, Z, Q("rollback"), Z, Q("begin"), Z, Q("select 1/0"), Z,
         D("S", "b") + S, Z, D("S", "c") + S, Z, Q("rollback"), Z, run("b", ("3",)), Z),
    case("parameters are what they were, whatever was made or failed since", P("select $1::int", "a") + S,
         Z, P("select $1::int", "b") + S, Z, Q("create temp table made ()"), Z, Q("begin"), Z,
         Q("select 1/0"), Z, run("b", ("1",)), Z, run("b"), Z, Q("rollback"), Z, Q("begin"), Z,
         P("begin", "a") + S, Z, run("b"), Z, Q("rollback"), Z),
    case("no portal in a failed block", P("select 1 + 0", "a") + S, Z, Q("begin"), Z, P("begin", "a") + S, Z,
         D("P", "q") + S, Z, E(0, "q") + S, Z, C("P", "q") + S, Z, Q("rollback"), Z),
    case("bind in a failed block", P(X7, "a") + S, Z, Q("begin"), Z, Q("select 1/0"), Z, run("a"),
         Z, run("nope"), Z, Q("rollback"), Z),
    case("a taken name in a block with a savepoint", P(X7, "a") + S, Z, Q("begin"), Z,
         Q("select 1 + 0"), Z, Q("savepoint s"), Z, P(X7, "a") + S, Z, Q("rollback to s"), Z, run("a"),
         Z, Q("commit"), Z),
    case("a portal and a statement of one name", P(X7, "a") + B((), "a", "a") + C("P", "a")
         + B((), "a") + E() + S, Z),
    case("an error between two statements", P(X7, "a") + S, Z, P("select 8", "b") + B((), "b") + E()
         + P("select 1/0", "c") + B((), "c") + E() + P("select 9", "d") + B((), "d") + E() + S, Z,
         run("a"), Z, run("b"), Z, run("c"), Z, run("d"), Z),
    case("batches in one write", P(X7, "a") + S + run("a") + P("select 8", "b") + S + run("b")
         + C("S", "a") + S + run("a"), ready(6)),
    case("parameters", P("select $1::int + $2", "a", (0, 23)) + S, Z, D("S", "a") + S, Z,
         run("a", (3, 4)), Z, run("a", (3,)), Z, run("a", ("x", 4)), Z),
    case("an insert without rows", P("insert into t values ($1)", "a") + S, Z, run("a", (1,)), Z,
         run("a", (2,)), Z, Q("select * from t order by a"), Z),
    case("a name that looks like the proxy's own", P(X7, "pgb_s1") + S, Z, run("pgb_s1"), Z,
         C("S", "pgb_s1") + S, Z, run("pgb_s1"), Z, C("S", "pgb_s2") + S, Z, run("pgb_s2"), Z),
    case("a statement that begins a block", P("begin", "b") + P("commit", "c") + S, Z, run("b"), Z,
         Q("select 1 + 0"), Z, run("c"), Z, run("c"), Z),
    case("flush instead of sync", P(X7, "a") + H, upto("1"), D("S", "a") + H, upto("T"),
         B((), "a") + E() + H, upto("C"), S, Z),
    case("the warm order of replies", P(X7, "a") + S, Z, run("a"), Z, C("S", "a") + P(X7, "a")
         + D("S", "a") + B((), "a") + D("P") + E() + S, Z),
    case("a large row between", P("select repeat('x', 5000000)", "a") + B((), "a") + E() + P(X7, "b")
         + B((), "b") + E() + S, Z),
]

CHANGED = [
    case("the result has changed: the plan fails until it is made anew", Q(TABLE), Z,
         P("select * from wide", "a") + S, Z, run("a"), Z, Q("alter table wide add b int"), Z,
         run("a"), Z, run("a"), Z, C("S", "a") + P("select * from wide", "a") + run("a"), Z,
         run("a"), Z, Q("drop table wide"), Z),
    case("the result has changed inside a block", Q(TABLE), Z, P("select * from wide", "a") + S, Z,
         run("a"), Z, Q("begin"), Z, Q("alter table wide add b int"), Z, run("a"), Z, run("a"), Z,
         Q("rollback"), Z, run("a"), Z, Q("drop table wide"), Z),
    case("an unnamed statement and its table", Q(TABLE), Z, P("select a from wide") + S, Z,
         run(), Z, Q("drop table wide"), Z),
]

UNNAMED = [
    case("bound in later batches", P(X7) + D("S") + S, Z, run(), Z, run(), Z),
    case("a query drops it", P(X7) + S, Z, Q("select 1 + 0"), Z, run(), Z),
    case("a failed query drops it", P(X7) + S, Z, Q("selec"), Z, run(), Z),
    case("a failed parse drops it", P(X7) + S, Z, P("selec") + S, Z, run(), Z),
    case("a skipped parse does not", P(X7) + S, Z, B((), "nope") + P("select 8") + S, Z, run(), Z),
    case("close drops it", P(X7) + S, Z, C("S") + S, Z, run(), Z),
    case("a skipped close does not", P(X7) + S, Z, B((), "nope") + C("S") + S, Z, run(), Z),
    case("it survives a rollback", Q("begin"), Z, P(X7) + S, Z, Q("rollback"), Z, run(), Z),
    case("in one write", P(X7) + S + run() + P("select 8") + S + run() + run(), ready(5)),
    case("never made", run(), Z, D("S") + S, Z),
    case("begin and commit", P("begin") + S, Z, run(), Z, run(), Z, P("commit") + S, Z, run(), Z),
    case("too long to be kept", P("select 7 as " + "x" * 20000) + S, Z, run(), Z),
]

DROPPED = [
    case("deallocate all", P(X7, "a") + S, Z, Q("deallocate all"), Z, run("a"), Z),
    case("deallocate all, then a parse in one batch", P(X7, "a") + S, Z,
         P("deallocate all") + B() + E() + P("select 8", "s2") + S, Z, run("s2"), Z, run("a"), Z),
    case("deallocate all in a block", P(X7, "a") + S, Z, Q("begin"), Z, Q("select 1 + 0"), Z,
         Q("deallocate all"), Z, run("a"), Z, Q("rollback"), Z, run("a"), Z),
    case("deallocate all in a failed block", P(X7, "a") + S, Z, Q("begin"), Z, Q("select 1/0"), Z,
         Q("deallocate all"), Z, Q("rollback"), Z, run("a"), Z),
    case("discard all", P(X7, "a") + S, Z, Q("/* c */ Discard All ;"), Z, run("a"), Z),
    case("discard all by a batch", P(X7, "a") + S, Z, P("discard all") + run(), Z, run("a"), Z),
    case("deallocate", P(X7, "a") + P(X7, "b") + S, Z, Q("deallocate a"), Z, run("a"), Z, run("b"),
         Z, Q("deallocate prepare B"), Z, run("b"), Z, Q("deallocate b"), Z),
    case("deallocate by a batch", P(X7, "a") + S, Z, P('deallocate "a"') + B() + D() + E() + S, Z,
         run("a"), Z, P('deallocate "a"') + B() + D() + E() + S, Z),
    case("deallocate in a block", P(X7, "a") + S, Z, Q("begin"), Z, Q("select 1 + 0"), Z,
         Q("deallocate a"), Z, run("a"), Z, Q("rollback"), Z, run("a"), Z),
    case("deallocate in a failed block", P(X7, "a") + S, Z, Q("begin"), Z, Q("select 1/0"), Z,
         Q("deallocate a"), Z, Q("rollback"), Z, run("a"), Z),
    case("deallocate, skipped", P(X7, "a") + S, Z, B((), "nope") + P("deallocate a") + B() + E()
         + S, Z, run("a"), Z),
    case("deallocate, then a parse in one batch", P(X7, "a") + S, Z, P("deallocate a") + B() + E()
         + P("select 8", "a") + run("a"), Z, run("a"), Z),
]

SQL_LEVEL = [
    case("prepare and execute", Q("prepare p as select 7"), Z, Q("execute p"), Z,
         Q("deallocate p"), Z, Q("execute p"), Z),
    case("a name of each level", Q("prepare p as select 7"), Z, P("select 8", "p") + S, Z, run("p"),
         Z, P("select 9", "q") + S, Z, Q("execute q"), Z),
    case("execute of a statement of the protocol", P(X7, "a") + S, Z, Q("execute a"), Z, run("a"), Z,
         Q("deallocate a"), Z, run("a"), Z, Q("execute a"), Z),
    case("execute of the proxy's own name", P(X7, "a") + S, Z, Q("execute pgb_s1"), Z),
]


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


@pytest.mark.needs_proxy
@pytest.mark.parametrize("made", NAMED + CHANGED + UNNAMED + DROPPED + SQL_LEVEL)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)
