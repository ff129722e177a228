"""Statements of the protocol that SQL names in unexpected places, and what is described of them in a
failed block: each answer as PostgreSQL's."""

import pytest

from support.messages import B, C, D, E, P, Q, S, batch, only_error
from support.oracle import Z, case, compare

X7 = "select 7 as seven"
RUN = B((), "a") + E() + S
INSERT = "insert into t values ($1, $2)"
MANY = "delete from t where a in ({}) and false".format(", ".join(f"${n}" for n in range(1, 101)))

# Fails a block of which no backend has heard, and drops no unnamed statement.
FAIL_QUIETLY = (P("begin", "begin") + S, Z, B((), "begin") + E() + S, Z, P("x", "begin") + S, Z)

CASES = [
    case("explain execute", P(X7, "a") + S, Z, Q("explain execute a"), Z,
         Q("EXPLAIN (analyze, costs off, timing off, summary off) EXECUTE \"a\""), Z, RUN, Z,
         Q("deallocate a"), Z, RUN, Z),
    case("explain execute by a batch", P("select $1::int", "a") + S, Z,
         batch("explain (costs off) execute a (3)") + S, Z, B(("3",), "a") + E() + S, Z),
    case("explain execute in a block", P(X7, "a") + S, Z, Q("begin"), Z,
         Q("explain (costs off) execute a"), Z, Q("commit"), Z, RUN, Z),
    case("explain execute behind other work", P(X7, "a") + S, Z, RUN + Q("explain execute a"), Z, Z,
         RUN, Z),
    case("explain execute of an unknown name", P(X7, "a") + S, Z, Q("explain execute b"), Z, RUN, Z),
    case("explain execute of the proxy's own name", P(X7, "a") + S, Z, Q("explain execute pgb_s1"),
         Z, RUN, Z),
    case("a table of an execute", P(X7, "a") + S, Z, Q("begin"), Z,
         Q("create table made as execute a"), Z, Q("select seven + 1 from made"), Z, Q("rollback"), Z, RUN, Z),
    case("prepare and deallocate in one text", P(X7, "a") + S, Z,
         Q("prepare p as select 8; deallocate a"), Z, RUN, Z, Q("execute p"), Z),
    case("select and execute in one text", P(X7, "a") + S, Z, Q("select 1; execute a; execute a"), Z,
         RUN, Z),
    case("deallocate twice in one text", P(X7, "a") + P("select 8", "b") + S, Z,
         Q("deallocate a; deallocate b"), Z, RUN, Z, B((), "b") + E() + S, Z),
    case("a text that fails drops no more than it did", P(X7, "a") + S, Z,
         Q("select 1; select 1/0; deallocate a"), Z, RUN, Z),
    case("a name that is closed meanwhile", P(X7, "a") + S, Z, C("S", "a") + S, Z,
         Q("explain execute a"), Z),
    case("the unnamed statement described in a failed block", *FAIL_QUIETLY,
         Q("rollback"), Z, P(INSERT, oids=(23, 25)) + S, Z, *FAIL_QUIETLY[2:], D("S") + S, Z,
         P("rollback", "r") + S, Z, B(("1", "x")) + S, Z),
    case("the same with rows", *FAIL_QUIETLY, Q("rollback"), Z,
         P(INSERT + " returning a", oids=(23, 25)) + S, Z, *FAIL_QUIETLY[2:], D("S") + S, Z),
    case("more than 64 parameters described in a failed block", P(MANY, "a") + S, Z,
         P(MANY, "b") + S, Z, Q("begin"), Z, P("x", "a") + S, Z, D("S", "b") + S, Z, D("S", "a") + S,
         Z, Q("rollback"), Z, B(tuple("1" * 100), "b") + E() + S, Z),
]  # fmt: skip


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


@pytest.mark.needs_proxy
@pytest.mark.parametrize("made", CASES)
def test_the_proxy_answers_as_postgresql_does(postgres, proxy, made):
    compare(postgres, proxy, made)


@pytest.mark.needs_proxy
def test_no_text_reaches_a_statement_of_the_proxys_own(proxy, connect):
    session = connect(proxy)
    session.ask(P(X7, "a"), S)
    for text in ["select 1; execute pgb_s1", "explain execute pgb_s1; select 1 + 0"]:
        error = only_error(session.ask(Q(text)))
        assert (error["C"], error["M"]) == ("26000", 'prepared statement "pgb_s1" does not exist')
