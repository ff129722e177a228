"""Deadlines: by the tag of a statement or by the workload; refused on arrival, out of the queue on
time, cancelled while running, rolled back between statements, and never a COMMIT."""

import pytest

from support.lanes import Holder, check_refusal, queued, waiting
from support.messages import B, CopyData, E, H, P, Q, S, batch, codes
from support.waiting import PATIENCE, Stopwatch, until, until_none
from support.wire import ServerError

pytestmark = pytest.mark.needs_proxy

# Long enough to get there, mostly, and short enough to wait for.
SHORT_MS = round(100 * PATIENCE)
LONG_MS = 60_000

WORKLOADS = [
    {"name": "hurried", "match": {"application_name": "hurried"}, "concurrency": 4,
     "deadline": f"{SHORT_MS}ms"},
    {"name": "tight", "match": {"application_name": "tight"}, "concurrency": 1, "queue": 9,
     "queue_wait": "20s"},
    {"name": "kept", "match": {"application_name": "kept"}, "concurrency": 4,
     "pooling": "session"},
    {"name": "default", "concurrency": 4, "queue": 9, "queue_wait": "20s"},
]

INSERT = "insert into t values (1)"
NEVER_WAITED = "running=1 limit=1 waiting=0 queue=9 waited_ms=0"
SLEEP = "select pg_sleep(60)"

lanes = pytest.mark.parametrize("lane", ["moving", "kept"])


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


@pytest.fixture(autouse=True)
def emptied(postgres):
    postgres.empty_tables()


def within(milliseconds, text):
    return f"{text} /*deadline_ms='{milliseconds}'*/"


def errors(got):
    return [msg.fields()["C"] for msg in got if msg.kind == "E"]


def in_a_block(session, milliseconds=SHORT_MS, text=INSERT):
    """Opens a block with a deadline and does `text` in it; longer where the machine was too slow for
    that. Returns the time that it took in the end."""
    while True:
        session.query("begin")
        try:
            session.query(within(milliseconds, text))
            return milliseconds
        except ServerError as error:
            assert error.fields["C"] in ("40001", "57014")
            session.query("rollback")
            milliseconds *= 2


def end_of_block(session):
    """What COMMIT was answered."""
    return [msg.tag() for msg in session.ask(Q("commit"), within=20) if msg.kind == "C"]


def cancelled_at_deadlines(proxy, workload="default"):
    return proxy.metrics().gauge("deadline_cancelled_total", workload)


# ---- where it comes from

FORMS = {
    "trailing": f"{SLEEP} /*deadline_ms='{SHORT_MS}'*/",
    "before a semicolon": f"{SLEEP} /*action='a',deadline_ms='{SHORT_MS}'*/;",
    "leading": f"/*deadline_ms='{SHORT_MS}'*/ {SLEEP}",
    "older": f"{SLEEP} /*deadline_ms:{SHORT_MS}*/",
    "a line": f"{SLEEP} -- deadline_ms:{SHORT_MS}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tag_in_any_form_ends_the_statement_with_57014(proxy, connect, form):
    session = connect(proxy)
    assert errors(session.ask(Q(FORMS[form]))) == ["57014"]
    assert session.value("select 42") == "42"


def test_a_prepared_statement_is_counted_from_each_execution(proxy, connect):
    session = connect(proxy)
    session.ask(P(within(2 * SHORT_MS, "select pg_sleep($1)"), "s"), S)
    before = cancelled_at_deadlines(proxy)
    session.query(f"select pg_sleep({2 * SHORT_MS / 1000})")
    assert not errors(session.ask(B(["0"], "s") + E() + S))
    assert errors(session.ask(B(["60"], "s") + E() + S)) == ["57014"]
    assert cancelled_at_deadlines(proxy) == before + 1


def test_the_default_is_for_those_who_bring_none(proxy, connect):
    session = connect(proxy, application_name="hurried")
    assert errors(session.ask(Q(SLEEP))) == ["57014"]
    assert not errors(session.ask(Q(within(LONG_MS, f"select pg_sleep({SHORT_MS / 900})"))))


def test_a_tag_that_is_no_number_counts_for_nothing_and_is_counted(proxy, connect):
    ignored = lambda: proxy.metrics().gauge("deadline_tags_ignored_total", "default")
    before = ignored()
    assert connect(proxy).value("select 42 /*deadline_ms='soon'*/") == "42"
    assert ignored() == before + 1


# ---- before it runs

@lanes
@pytest.mark.parametrize("left", ["0", "-20"])
def test_a_deadline_that_has_passed_is_refused_on_arrival(postgres, proxy, connect, left, lane):
    session = connect(proxy, application_name=lane)
    got = session.ask(Q(within(left, INSERT)))
    check_refusal(got[0], "kept" if lane == "kept" else "default", "deadline")
    assert postgres.sql("select * from t") == []
    assert session.value("select 42") == "42"


def test_who_would_wait_for_too_long_is_refused_on_arrival(proxy, connect):
    holder = Holder(connect, proxy, "tight")
    session = connect(proxy, application_name="tight")
    # A lane in which nothing moves is expected to stay so for as long again.
    holder.session.query("select pg_sleep(0.06)")
    for begin in ("", "begin"):
        session.query(begin)
        refusal = session.ask(Q(within(50, INSERT)))[0]
        check_refusal(refusal, "tight", "deadline", detail=NEVER_WAITED)
    holder.release()
    assert end_of_block(session) == ["ROLLBACK"]
    assert session.value("select count(*) from t") == "0"


def test_a_waiter_leaves_at_its_deadline_and_never_starts(postgres, proxy, connect):
    holder = Holder(connect, proxy, "tight")
    with Stopwatch() as watch:
        patient = queued(proxy, connect, "tight", "insert into t values (2)")
        late = connect(proxy, application_name="tight")
        got = late.ask(Q(within(2 * SHORT_MS, INSERT)), within=20)
    assert watch.seconds >= 2 * SHORT_MS / 1000 - 0.01
    check_refusal(got[0], "tight", "deadline")
    waiting(proxy, "tight", 1)
    assert proxy.running("tight") == 1
    holder.release()
    patient.until("Z")
    assert postgres.sql("select a from t") == [("2",)]


def test_a_deadline_ends_the_wait_for_a_backend(new_proxy, postgres, connect):
    proxy = new_proxy(
        postgres,
        {"databases": {"*": {"pool_size": 1, "pool_wait": "30s"}},
         "workloads": [{"name": "default", "concurrency": 2}]},
    )
    holder = Holder(connect, proxy)
    session = connect(proxy)
    got = session.ask(Q(within(SHORT_MS, INSERT)), within=20)
    check_refusal(got[0], "default", "deadline")
    assert proxy.running() == 1
    holder.release()
    assert session.value("select count(*) from t") == "0"
    metrics = proxy.metrics()
    assert metrics.rejected("default", "deadline") == 1
    assert metrics.sum("pgbulkhead_workload_rejected_holders_total", reason="deadline") == 1
    proxy.assert_clean()


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_without_enforcing_nobody_is_refused_and_the_deadline_is_kept(
    new_proxy, postgres, connect, mode
):
    lane = {"name": "default", "concurrency": 1, "mode": mode}
    proxy = new_proxy(postgres, {"workloads": [lane]})
    holder = Holder(connect, proxy)
    session = connect(proxy)
    assert errors(session.ask(Q(within(SHORT_MS, SLEEP)))) == ["57014"]
    holder.release()
    assert proxy.metrics().rejected("default", "deadline") == 0


# ---- while it runs

@lanes
def test_what_runs_is_cancelled_and_the_permit_is_back(postgres, proxy, connect, lane):
    before = cancelled_at_deadlines(proxy, "kept" if lane == "kept" else "default")
    session = connect(proxy, application_name=lane)
    with Stopwatch() as watch:
        got = session.ask(Q(within(SHORT_MS, "insert into t select 1 from pg_sleep(60)")))
    # PostgreSQL's own words.
    assert got[0].fields()["M"] == "canceling statement due to user request"
    assert watch.seconds >= SHORT_MS / 1000 - 0.01
    until_none(lambda: proxy.metrics().held(), what="the permit is back")
    assert postgres.sql("select * from t") == []
    assert cancelled_at_deadlines(proxy, "kept" if lane == "kept" else "default") == before + 1


@lanes
def test_a_block_is_cancelled_and_gives_its_permit_back_by_itself(postgres, proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    in_a_block(session)
    # The deadline may be over before the first of them comes.
    assert errors(session.ask(Q(SLEEP), Q(INSERT), ready=2)) == ["57014", "25P02"]
    until_none(lambda: proxy.metrics().held(), what="the permit is back")
    assert errors(session.ask(Q("select 1"))) == ["25P02"]
    assert end_of_block(session) == ["ROLLBACK"]
    assert session.value("select count(*) from t") == "0"


@lanes
def test_between_statements_it_rolls_back_and_the_next_is_told(postgres, proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    in_a_block(session)
    until_none(lambda: proxy.metrics().held(), what="the permit is back")
    assert not postgres.busy()
    for said in (["57014"], ["25P02"]):
        assert errors(session.ask(batch("select 1") + S)) == said
    assert end_of_block(session) == ["ROLLBACK"]
    assert session.value("select count(*) from t") == "0"


@lanes
def test_commit_behind_the_deadline_answers_rollback(proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    in_a_block(session)
    until_none(lambda: proxy.metrics().held(), what="the permit is back")
    assert end_of_block(session) == ["ROLLBACK"]
    assert session.value("select count(*) from t") == "0"


def test_a_deadline_on_begin_counts_from_there(proxy, connect):
    session = connect(proxy)
    session.query(f"begin /*deadline_ms='{SHORT_MS}'*/")
    assert errors(session.ask(Q(SLEEP)))[0] in ("57014", "40001")
    assert end_of_block(session) == ["ROLLBACK"]


@lanes
def test_a_commit_that_was_sent_is_never_cancelled(postgres, proxy, connect, lane):
    session = connect(proxy, application_name=lane)
    before = cancelled_at_deadlines(proxy, "kept" if lane == "kept" else "default")
    milliseconds, tags = SHORT_MS, ["ROLLBACK"]
    while tags == ["ROLLBACK"]:  # the COMMIT came too late
        # It takes twice as long as there is.
        slow = f"insert into slow_commit values ({milliseconds // 50})"
        milliseconds = 2 * in_a_block(session, milliseconds, slow)
        tags = end_of_block(session)
    assert tags == ["COMMIT"]
    assert postgres.value("select count(*) from slow_commit") == "1"
    if milliseconds == 2 * SHORT_MS:
        after = cancelled_at_deadlines(proxy, "kept" if lane == "kept" else "default")
        assert after == before


def test_a_batch_without_its_sync_is_ended(proxy, connect):
    session = connect(proxy)
    session.send(P(within(SHORT_MS, INSERT)) + B() + E() + H)
    got = session.until("E")
    assert got[-1].fields()["C"] == "57014"
    until_none(lambda: proxy.metrics().held(), what="the permit is back")
    session.ask(S)
    assert session.value("select count(*) from t") == "0"


def test_a_copy_from_its_client_is_ended(proxy, connect):
    session = connect(proxy)
    session.send(Q(within(SHORT_MS, "copy t (a) from stdin")))
    session.until("G")
    session.send(CopyData("1\n"))
    assert errors(session.until("Z")) == ["57014"]
    assert session.value("select count(*) from t") == "0"


def test_in_a_pipeline_a_deadline_is_its_own_units(postgres, proxy, connect):
    session = connect(proxy)
    got = session.ask(
        Q("insert into t values (1)"),
        Q(within(SHORT_MS, "insert into t select 2 from pg_sleep(60)")),
        Q("insert into t values (3)"),
        ready=3,
    )
    assert codes(got) == ["C", "Z", "57014", "Z", "C", "Z"]
    assert postgres.sql("select a from t order by a") == [("1",), ("3",)]


def test_a_holder_of_advisory_locks_keeps_them(proxy, connect):
    session = connect(proxy)
    session.query("select pg_advisory_lock(7)")
    before = cancelled_at_deadlines(proxy)
    in_a_block(session)
    until(lambda: cancelled_at_deadlines(proxy) > before, what="the deadline has passed")
    assert errors(session.ask(Q("select 1"))) == ["57014"]
    assert errors(session.ask(Q("select 1"))) == ["25P02"]
    assert end_of_block(session) == ["ROLLBACK"]
    assert session.value("select count(*) from t") == "0"
    assert session.value("select pg_advisory_unlock(7)") == "t"
