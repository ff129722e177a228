"""Workloads told apart by what the statement says: tags, patterns, and a name chosen by the session."""

import pytest

from support.messages import B, D, E, P, Q, S, codes

CONFIG = {
    "databases": {"*": {"pool_size": 8}},
    "workloads": [
        {"name": "own", "match": {"user": "nobody", "tag": {"workload": "own"}}, "concurrency": 1},
        {"name": "reports", "match": {"tag": {"workload": "reports"}}, "concurrency": 1},
        {"name": "scans", "match": {"query": "(?i)from pg_class"}, "concurrency": 1},
        {"name": "default", "concurrency": 8},
    ],
}
NAMES = [workload["name"] for workload in CONFIG["workloads"]]
TAG = "/*workload='reports'*/"
TAGGED = "select 1 " + TAG
REFUSED = ["40001", "Z"]

# As each emitter writes the tag workload=reports into its statements.
EMITTERS = {
    "rails": "select 1 /*action='index',application='Shop',workload='reports'*/",
    "rails_prepended": "/*action='index',workload='reports'*/ select 1 + 0",
    "rails_legacy": "select 1 /*application:Shop,workload:reports*/",
    "opentelemetry": "select 1 /*db_driver='psycopg2%3A2.9',workload='reports'*/;",
    "google_python": "select 1 /*route='%%5Epolls',workload='reports'*/",
    "java": "select 1 /*action='run+all',workload='reports'*/",
    "hibernate": "/* select a from A a */ select 1 /*workload='reports'*/",
    "knex": "select 1 /*route='%2Fitems%2F%3Aid',workload='reports'*/",
    "datadog": "/*dddbs='db',dde='prod',workload='reports'*/ select 1 + 0",
    "sequel": "select 1 -- model:Album,workload:reports\n",
    "prisma": "select 1 /*requestId='a-1',workload='reports'*/",
}
NO_TAGS = {
    "prose": "select 1 /* not one of the reports */",
    "nested": "select 1 /* outer /* workload='reports' */ */",
    "literal": "select ' -- workload:reports'",
    "middle": "select /*workload='reports'*/ 1",
    "other_user": "select 1 /*workload='own'*/",
}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, CONFIG)


@pytest.fixture
def holder(proxy, connect):
    """A session that holds the one permit of `reports`."""
    session = connect(proxy)
    session.ask(Q("begin"), Q(TAGGED), ready=2)
    assert running(proxy) == {"reports": 1}
    return session


def running(proxy):
    return {name: count for name in NAMES if (count := proxy.running(name))}


def execute(statement=""):
    return B(statement=statement) + E() + S


@pytest.mark.needs_proxy
def test_every_emitters_tag_is_understood(proxy, connect, holder):
    session = connect(proxy)
    for name, text in EMITTERS.items():
        assert (name, codes(session.ask(Q(text)))) == (name, REFUSED)
        assert (name, codes(session.ask(P(text) + execute()))) == (name, REFUSED)
    holder.query("commit")
    for text in EMITTERS.values():
        session.query(text)


@pytest.mark.needs_proxy
def test_what_is_no_tag_does_not_choose(proxy, connect, holder):
    session = connect(proxy)
    for text in NO_TAGS.values():
        session.query(text)
    session.query("select 1 + 0")


@pytest.mark.needs_proxy
def test_a_pattern_chooses_by_the_text(proxy, connect):
    holder, session = connect(proxy), connect(proxy)
    holder.ask(Q("begin"), Q("select count(*) from pg_class"), ready=2)
    assert running(proxy) == {"scans": 1}
    assert codes(session.ask(Q("SELECT relname FROM pg_class"))) == REFUSED
    session.query("select relkind, 1 from pg_catalog.pg_class")
    # The first rule in file order wins.
    session.query("select count(*) from pg_class " + TAG)
    holder.query("commit")


@pytest.mark.needs_proxy
def test_a_prepared_statements_tag_counts_at_each_execution(proxy, connect):
    holder, session = connect(proxy), connect(proxy)
    session.ask(P(TAGGED, "tagged") + P("select 2", "plain") + S)
    session.ask(P(TAGGED) + S)
    holder.ask(Q("begin"), Q(TAGGED), ready=2)
    assert codes(session.ask(execute())) == REFUSED
    assert codes(session.ask(execute("tagged"))) == REFUSED
    assert codes(session.ask(D("S", "tagged") + S)) == REFUSED
    assert "40001" not in codes(session.ask(execute("plain")))
    holder.query("commit")
    assert "40001" not in codes(session.ask(execute("tagged")))
    # Another text under the same name is another statement.
    session.ask(b"C" + bytes([0, 0, 0, 12]) + b"Stagged\0" + P("select 3", "tagged") + S)
    holder.ask(Q("begin"), Q(TAGGED), ready=2)
    assert "40001" not in codes(session.ask(execute("tagged")))
    holder.query("commit")


@pytest.mark.needs_proxy
def test_a_long_unnamed_statement_keeps_its_tag_across_batches(proxy, connect, holder):
    session = connect(proxy)
    text = f"select length('{'x' * 9000}') "
    holder.query("commit")
    session.ask(P(text + TAG) + S)
    holder.ask(Q("begin"), Q(TAGGED), ready=2)
    assert codes(session.ask(execute())) == REFUSED


@pytest.mark.needs_proxy
def test_a_pinned_session_is_counted_where_each_transaction_belongs(proxy, connect, holder):
    session = connect(proxy)
    session.query("listen news")
    session.query("select 1 + 0")
    assert codes(session.ask(Q(TAGGED))) == REFUSED
    holder.query("commit")
    session.ask(P(TAGGED, "kept") + S)
    holder.ask(Q("begin"), Q(TAGGED), ready=2)
    assert codes(session.ask(execute("kept"))) == REFUSED
    assert proxy.metrics().gauge("pinned", "default") == 1
    session.query("unlisten *")


@pytest.mark.needs_proxy
def test_a_block_stays_in_the_workload_of_its_first_statement(proxy, connect):
    session = connect(proxy)
    session.ask(Q("begin " + TAG), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"default": 1}
    session.query(TAGGED)
    session.ask(P(TAGGED) + execute())
    assert running(proxy) == {"default": 1}
    session.query("commit")
    session.ask(Q("begin"), Q("savepoint a"), Q(TAGGED), ready=3)
    assert running(proxy) == {"reports": 1}
    session.query("select 2")
    assert running(proxy) == {"reports": 1}
    session.query("commit")


@pytest.mark.needs_proxy
def test_a_pipelined_transaction_of_another_workload_arrives_anew(proxy, connect, holder):
    session = connect(proxy)
    batch = [P("select 1 + 0") + execute(), P(TAGGED) + execute(), P("select 2") + execute()]
    got = codes(session.ask(*batch, ready=3))
    assert got.count("40001") == 1 and got.count("Z") == 3
    assert got.index("40001") > got.index("Z")
    got = codes(session.ask(Q("select 1 + 0"), Q(TAGGED), Q("select 2"), ready=3))
    assert got == ["T", "D", "C", "Z", *REFUSED, "T", "D", "C", "Z"]
    holder.query("commit")
    got = codes(session.ask(Q("select 1 + 0"), Q(TAGGED), Q("select 2"), ready=3))
    assert got == ["T", "D", "C", "Z"] * 3


@pytest.mark.needs_proxy
def test_a_pipelined_block_is_one_transaction(proxy, connect, holder):
    session = connect(proxy)
    texts = ["begin", "select 1 + 0", TAGGED, "commit", TAGGED, "select 2"]
    got = codes(session.ask(*map(Q, texts), ready=6))
    rows = ["T", "D", "C", "Z"]
    assert got == ["C", "Z", *rows, *rows, "C", "Z", *REFUSED, *rows]


# ---- chosen by name


@pytest.mark.needs_proxy
@pytest.mark.parametrize(
    "startup",
    [{"options": "-c pgbulkhead.workload=reports"}, {"pgbulkhead.workload": "reports"}],
    ids=["options", "parameter"],
)
def test_the_startup_packet_may_choose(proxy, connect, startup):
    session = connect(proxy, **startup)
    assert session.value("show pgbulkhead.workload") == "reports"
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"reports": 1}
    session.query("rollback")
    session.query("set pgbulkhead.workload = 'default'")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"default": 1}
    session.query("rollback")
    session.query("reset pgbulkhead.workload")
    assert session.value("show pgbulkhead.workload") == "reports"


@pytest.mark.needs_proxy
@pytest.mark.parametrize(
    "choose",
    [
        "set pgbulkhead.workload to 'reports'",
        "set session pgbulkhead.workload = reports",
        "select set_config('pgbulkhead.workload', 'reports', false)",
    ],
)
def test_set_chooses_for_the_transactions_behind_it(proxy, connect, choose):
    session = connect(proxy)
    session.query(choose)
    assert session.value("show pgbulkhead.workload") == "reports"
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"reports": 1}
    session.query("rollback")
    session.query("reset pgbulkhead.workload")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"default": 1}
    session.query("rollback")


@pytest.mark.needs_proxy
def test_set_local_chooses_for_its_block_alone(proxy, connect):
    session = connect(proxy)
    session.ask(Q("begin"), Q("set local pgbulkhead.workload = 'reports'"), Q("select 1 + 0"), ready=3)
    assert running(proxy) == {"reports": 1}
    session.query("commit")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"default": 1}
    session.query("rollback")


@pytest.mark.needs_proxy
def test_a_set_that_is_rolled_back_was_never_said(proxy, connect):
    session = connect(proxy)
    session.ask(Q("begin"), Q("select 1 + 0"), Q("set pgbulkhead.workload = 'reports'"), ready=3)
    assert running(proxy) == {"default": 1}
    session.query("rollback")
    session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert running(proxy) == {"default": 1}
    session.query("rollback")


@pytest.mark.needs_proxy
def test_a_full_workload_is_left_without_asking_it(proxy, connect, holder):
    session = connect(proxy, **{"options": "-c pgbulkhead.workload=reports"})
    assert codes(session.ask(Q("select 1 + 0"))) == REFUSED
    session.query("set pgbulkhead.workload = 'default'")
    session.query("select 1 + 0")


@pytest.mark.needs_proxy
@pytest.mark.parametrize("name", ["nosuch", "own", "scans"])
def test_a_choice_without_effect_is_told_once(proxy, connect, name):
    """No such workload; one for another user; one whose pattern the statement does not match."""
    session = connect(proxy)
    got = session.ask(Q(f"set pgbulkhead.workload = '{name}'"))
    assert got[0].kind == "N"
    fields = got[0].fields()
    assert (fields["S"], fields["C"]) == ("WARNING", "01000")
    assert f'workload "{name}" cannot be chosen here' in fields["M"]
    assert '"default"' in fields["D"]
    assert session.value("show pgbulkhead.workload") == name
    got = session.ask(Q("begin"), Q("select 1 + 0"), ready=2)
    assert "N" not in [message.kind for message in got]
    assert running(proxy) == {"default": 1}
    session.query("rollback")
