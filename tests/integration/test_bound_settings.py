"""set_config() with parameters: the setting follows its session to whatever backend serves it, and no
other session sees it."""

import pytest

from support.messages import B, D, E, P, Q, S, batch, codes

OID_BOOL, OID_VARCHAR = 16, 1043
SHOWN = "select current_setting('app.user', true) as app_user"
OTHER = "select set_config('app.user', 'other', false), set_config('work_mem', '3MB', false)"


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    """One backend for all, so that each transaction is on the one of somebody else."""
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "10s"}}})


@pytest.fixture(scope="module")
def wide_proxy(module_proxy, postgres):
    """One of the two backends may be kept."""
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "10s"}}})


@pytest.fixture
def rival(proxy, connect):
    session = connect(proxy)
    session.query(OTHER)
    return session


def unnamed(text, params, **bind):
    return lambda session: session.ask(P(text), B(params, **bind), D("P"), E(), S)


def named(text, params, oids=(), **bind):
    def play(session):
        session.ask(P(text, "plan", oids), D("S", "plan"), S)
        return session.ask(B(params, "plan", **bind), E(), S)

    return play


def twice(text, params):
    """A named statement bound anew, in another batch, for another value."""

    def play(session):
        session.ask(P(text, "plan"), B(["app.user", "first", "f"], "plan"), E(), S)
        return session.ask(B(params, "plan"), E(), S)

    return play


ALL = "select set_config($1, $2, $3)"
WAYS = {
    # psycopg 3: text, no types.
    "unnamed, text": unnamed("select set_config('app.user', $1, false)", ["it's \\ me"]),
    "name and all, text": unnamed(ALL, ["app.user", "größe €", "off"]),
    # asyncpg: described first, then all in binary.
    "named, binary": named(ALL, ["app.user", "größe €", b"\0"], formats=[1], results=[1]),
    "casts": named("select set_config($1::text, $2::text, $3::bool)", ["app.user", "me", "f"]),
    # pgJDBC: declared types, one format each.
    "declared": named(
        ALL, ["app.user", "me", b"\0"], (OID_VARCHAR, OID_VARCHAR, OID_BOOL), formats=[0, 0, 1]
    ),
    "a literal beside it": unnamed(
        "select set_config('app.user', $1, false), set_config('app.other', 'x', true)", ["me"]
    ),
    "for the transaction only": unnamed(ALL, ["app.user", "me", "true"]),
    "named, twice": twice(ALL, ["app.user", "second", "f"]),
    "empty": unnamed(ALL, ["app.user", "", "f"]),
    "no such setting": unnamed(ALL, ["no_such_setting", "x", "f"]),
    "a value that is refused": unnamed(ALL, ["work_mem", "much", "f"]),
}

# What is not followed: the session keeps its backend, and its settings with it.
PINNING = {
    "another encoding": lambda session: (
        session.ask(Q("set client_encoding = 'latin1'")),
        unnamed(ALL, ["app.user", b"gr\xf6\xdfe", "f"])(session),
        session.ask(Q("reset client_encoding")),
    )[1],
    "null": unnamed(ALL, ["app.user", None, "f"]),
    "a word PostgreSQL alone knows": unnamed(ALL, ["app.user", "me", " fal "]),
    "more than fits": unnamed(ALL, ["app.user", "x" * 20000, "f"]),
    "a type that is cut": unnamed("select set_config('app.user', $1::varchar(2), false)", ["mean"]),
    "too few": unnamed(ALL, ["app.user"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_reads_the_same_behind_somebody_else(postgres, proxy, connect, rival, way):
    answers = []
    for server in (postgres, proxy):
        session = connect(server)
        said = [codes([msg])[0] for msg in WAYS[way](session)]
        assert rival.query(SHOWN) == [("other",)]
        # '' and NULL are told apart by PostgreSQL only where the name was used before.
        answers.append((said, session.value(SHOWN) or ""))
        session.terminate()
    assert answers[0] == answers[1]
    assert rival.query(SHOWN) == [("other",)]


@pytest.mark.parametrize("way", PINNING)
def test_what_is_not_followed_stays_on_its_backend(postgres, wide_proxy, connect, way):
    rival = connect(wide_proxy)
    rival.query(OTHER)
    answers = []
    for server in (postgres, wide_proxy):
        session = connect(server)
        said = [codes([msg])[0] for msg in PINNING[way](session)]
        assert rival.query(SHOWN) == [("other",)]
        answers.append((said, session.value(SHOWN) or ""))
        session.terminate()
    assert answers[0] == answers[1]
    wide_proxy.assert_clean()
    assert not connect(wide_proxy).value(SHOWN)


FOLLOWED = ["unnamed, text", "name and all, text", "named, binary", "casts", "declared", "named, twice"]


@pytest.mark.needs_proxy
@pytest.mark.parametrize("way", FOLLOWED)
def test_it_does_not_keep_the_backend(proxy, connect, rival, way):
    session = connect(proxy)
    WAYS[way](session)
    mine = session.value(SHOWN)
    assert mine and mine != "other"
    for _ in range(3):
        assert rival.query(SHOWN) == [("other",)]
        assert session.value(SHOWN) == mine
    assert proxy.metrics().gauge("pinned") == 0


STEP = {
    "unnamed": lambda session, value: session.ask(P(ALL), B(["app.user", value, "f"]), E(), S),
    "named": lambda session, value: session.ask(B(["app.user", value, "f"], "plan"), E(), S),
}

BLOCKS = [
    (["begin", "=a", "commit"], "a"),
    (["begin", "=a", "rollback"], "first"),
    (["begin", "=a", "select 1/0", "commit"], "first"),
    (["begin", "savepoint s", "=a", "rollback to s", "=b", "commit"], "b"),
    (["begin", "=a", "savepoint s", "=b", "select 1/0", "rollback to s", "commit"], "a"),
    (["begin", "=a", "commit and chain", "=b", "rollback"], "a"),
]


@pytest.mark.parametrize("how", STEP)
@pytest.mark.parametrize("texts, expected", BLOCKS, ids=[" ".join(t) for t, _ in BLOCKS])
def test_it_is_kept_and_undone_with_its_block(proxy, connect, rival, how, texts, expected):
    session = connect(proxy)
    session.ask(P(ALL, "plan"), S)
    STEP[how](session, "first")
    for text in texts:
        if text.startswith("="):
            STEP[how](session, text[1:])
        else:
            session.ask(Q(text))
    assert rival.query(SHOWN) == [("other",)]
    assert session.query(SHOWN) == [(expected,)]


def test_a_batch_that_fails_undoes_it(proxy, connect, rival):
    session = connect(proxy)
    STEP["unnamed"](session, "first")
    session.ask(P(ALL), B(["app.user", "a", "f"]), E(), batch("select 1/0"), S)
    assert rival.query(SHOWN) == [("other",)]
    assert session.query(SHOWN) == [("first",)]


def test_bound_and_not_executed_it_sets_nothing(proxy, connect, rival):
    session = connect(proxy)
    STEP["unnamed"](session, "first")
    session.ask(P(ALL), B(["app.user", "a", "f"]), D("P"), S)
    assert rival.query(SHOWN) == [("other",)]
    assert session.query(SHOWN) == [("first",)]


def test_a_pipeline_behind_it_runs_with_it(proxy, connect, rival):
    session = connect(proxy)
    step = P(ALL) + B(["app.user", "{}", "f"]) + E() + S
    wave = b"".join(
        step.replace(b"{}", str(i).encode() * 2) + batch(SHOWN) + S for i in range(10)
    )
    got = session.ask(wave, ready=20)
    rows = [msg.row()[0] for msg in got if msg.kind == "D"]
    assert rows == [str(i) * 2 for i in range(10) for _ in range(2)]
    assert rival.query(SHOWN) == [("other",)]


def test_a_role_that_is_bound_rules_what_may_be_read(proxy, connect, rival):
    """Row level security: identity and setting of a request are those of its own session."""
    rival.query(
        "create table tenants (owner text, note text);"
        " insert into tenants values ('a', 'of a'), ('b', 'of b');"
        " alter table tenants enable row level security;"
        " create policy own on tenants using (owner = current_setting('app.user', true));"
        " grant select on tenants to clerk"
    )
    try:
        sessions = {name: connect(proxy) for name in ("a", "b")}
        for name, session in sessions.items():
            session.ask(P(ALL), B(["app.user", name, "f"]), E(), P(ALL), B(["role", "clerk", "f"]), E(), S)
        for _ in range(3):
            for name, session in sessions.items():
                assert session.query("select note from tenants") == [(f"of {name}",)]
            assert len(rival.query("select note from tenants")) == 2
    finally:
        rival.query("drop table tenants")


def test_a_large_value_is_passed_through(wide_proxy, connect):
    session, rival = connect(wide_proxy), connect(wide_proxy)
    rival.query(OTHER)
    value = "y" * 300_000
    session.ask(P("select set_config('app.user', $1, false)"), B([value]), E(), S)
    assert session.value(SHOWN) == value
    assert rival.query(SHOWN) == [("other",)]


def test_a_quote_in_a_value_ends_nothing(proxy, connect, rival):
    """A value that looks like the end of its literal stays a value."""
    session = connect(proxy)
    evil = "'; set role postgres; select set_config('x.y', '1', false); --\\"
    session.ask(P(ALL), B(["app.user", evil, b"\0"], formats=[1]), E(), S)
    assert rival.query(SHOWN) == [("other",)]
    assert session.query(SHOWN + ", current_setting('x.y', true)") == [(evil, None)]
