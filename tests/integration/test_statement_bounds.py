"""The bounds on prepared statements: what is past them is slower or pinned, and never lost."""

import pytest

from support.messages import B, C, D, E, P, Q, S, codes
from support.waiting import until

LIMITED = {
    "databases": {"*": {"pool_size": 5, "pool_wait": "20s"}},
    "limits": {"max_prepared_statements": 3, "max_backend_statements": 2},
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, LIMITED)


def rows(got):
    return [msg.row()[0] for msg in got if msg.kind == "D"]


@pytest.mark.needs_proxy
def test_more_names_than_are_remembered_pin_and_none_is_lost(proxy, connect):
    session = connect(proxy)
    for i in range(3):
        session.ask(P(f"select {i}", f"s{i}"), S)
    assert proxy.metrics().gauge("pinned") == 0
    for i in range(3, 8):
        assert codes(session.ask(P(f"select {i}", f"s{i}"), S)) == ["1", "Z"]
    until(lambda: proxy.metrics().gauge("pinned") == 1, what="one is pinned")
    for i in (0, 7, 3, 1, 2, 6):
        assert rows(session.ask(B((), f"s{i}"), E(), S)) == [str(i)]
    assert codes(session.ask(P("select 9", "s0"), S)) == ["42P05", "Z"]
    assert codes(session.ask(P("select 9", "s7"), S)) == ["42P05", "Z"]
    assert codes(session.ask(C("S", "s7"), B((), "s7"), S)) == ["3", "26000", "Z"]
    session.query("discard all")
    until(lambda: proxy.metrics().gauge("pinned") == 0, what="the pin is gone")
    assert codes(session.ask(B((), "s0"), S)) == ["26000", "Z"]


@pytest.mark.needs_proxy
def test_a_backend_never_has_many_more_statements_than_the_bound(proxy, connect):
    sessions = [connect(proxy) for _ in range(4)]
    for i in range(60):
        session = sessions[i % 4]
        session.ask(C("S", "a"), P(f"select {i}", "a"), S)
        assert rows(session.ask(B((), "a"), E(), S)) == [str(i)]
    count = "select count(*) from pg_prepared_statements where name like 'pgb\\_s%'"
    # One that is being made, and one whose Close goes ahead of the next.
    assert int(sessions[0].value(count)) <= 2 + 2


@pytest.mark.needs_proxy
def test_statements_in_one_batch_outlive_their_eviction(proxy, connect):
    session = connect(proxy)
    got = session.ask(
        P("select 'a'", "a") + B((), "a") + P("select 'b'", "b") + P("select 'c'", "c"),
        B((), "c", "p") + E() + E(0, "p") + B((), "b") + E() + B((), "a") + E() + S,
    )
    assert rows(got) == ["a", "c", "b", "a"]


@pytest.mark.needs_proxy
def test_a_text_too_long_to_be_looked_at_is_prepared_where_it_is(proxy, connect):
    session = connect(proxy)
    text = "select 'long'" + " " * (2 << 20)
    session.ask(P(text, "long"), S)
    assert rows(session.ask(B((), "long"), D(), E(), S)) == ["long"]


@pytest.mark.needs_proxy
def test_a_client_that_leaves_before_its_sync_has_prepared_nothing(proxy, connect):
    for i in range(20):
        session = connect(proxy)
        session.send(P(f"select {i}", "a"))
        session.close()
    session = connect(proxy)
    assert codes(session.ask(P("select 5", "a"), S)) == ["1", "Z"]
    assert rows(session.ask(B((), "a"), E(), S)) == ["5"]


@pytest.mark.needs_proxy
def test_unnamed_statements_of_many_sessions_are_never_mixed_up(proxy, connect):
    sessions = [connect(proxy) for _ in range(8)]
    for turn in range(200):
        for i, session in enumerate(sessions):
            wide = ", ".join(f"${n + 1}::int" for n in range(i + 1))
            session.ask(P(f"select {turn} + {i}, {wide}"), D("S"), S)
        for i, session in enumerate(sessions):
            got = session.ask(B(["7"] * (i + 1)), E(), S)
            assert [msg.row() for msg in got if msg.kind == "D"] == [
                (str(turn + i), *["7"] * (i + 1))
            ]


@pytest.mark.needs_proxy
def test_statements_pass_between_backends_held_by_others(proxy, connect):
    """Each of the other backends is busy in turn, so that the session meets all of them."""
    session = connect(proxy)
    session.ask(P("select 7", "a") + P("insert into t values (1)", "i"), S)
    blockers = [connect(proxy) for _ in range(3)]
    for blocker in blockers:
        blocker.ask(Q("begin"), Q("select 1 + 0"), ready=2)
        assert rows(session.ask(B((), "a"), E(), S)) == ["7"]
        assert codes(session.ask(B((), "i"), E(), S)) == ["2", "C", "Z"]
    for blocker in blockers:
        blocker.query("rollback")
    assert proxy.metrics().gauge("pinned") == 0
