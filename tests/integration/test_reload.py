"""Hot reload: whatever happens to the file, either all that is live is in force or nothing has changed,
and clients do not notice."""

import json
import os

import pytest

from support.lanes import Holder, check_refusal
from support.messages import Q, startup
from support.reloads import attempts, changed, events, figure, hang_up, put, reload, workload
from support.secrets import secret
from support.waiting import until
from support.workers import Worker, at_work

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
CLIENTS, RELOADS = (200, 1000) if FULL else (8, 200)

LANES = [
    {"name": "reports", "match": {"application_name": "reports"}, "concurrency": 1},
    {"name": "default", "concurrency": 8, "queue": 50, "queue_wait": "10s"},
]


def limit(proxy, name="default"):
    return proxy.metrics().gauge("concurrency_limit", name)


def has_limit(proxy, count):
    until(lambda: limit(proxy) == count, within=10, what=f"{count} is in force")


def eight(**more):
    return {"workloads": [{"name": "default", "concurrency": 8, **more}]}


# ---- what sets it off


def test_a_signal_puts_the_file_in_force_and_the_log_says_what_changed(
    postgres, new_proxy, connect
):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    reload(proxy, {**eight(), "drain": {"timeout": "20s"}})
    assert limit(proxy) == 8 and session.value("select 42") == "42"
    log = proxy.log()
    assert "event=config_changed key=workloads[default].concurrency before=24 after=8" in log
    assert "event=config_changed key=drain.timeout before=25s after=20s" in log
    reloads = events(proxy, "config_reloaded")
    # Concurrency, queue, its wait; drain. The watch may be quicker than the signal.
    assert reloads[0].endswith("changes=4 restart_needed=0")
    assert any(line.startswith("trigger=SIGHUP") for line in reloads)
    assert figure(proxy, "last_reload_successful") == 1
    assert figure(proxy, "last_reload_success_timestamp_seconds") > 1.7e9


def in_place(proxy, text):
    with open(proxy.file, "w") as file:
        for at in range(0, len(text), 100):
            file.write(text[at : at + 100])
            file.flush()


@pytest.mark.parametrize("write", [in_place, put])
def test_a_file_that_was_written_is_loaded_without_being_told(postgres, new_proxy, write):
    proxy = new_proxy(postgres)
    for count in (8, 9):
        write(proxy, changed(proxy, eight(concurrency=count)))
        has_limit(proxy, count)
    assert "trigger=file changes=1 restart_needed=0" in proxy.log()
    assert write is in_place or attempts(proxy, "failure") == 0


def test_a_link_that_is_turned_is_noticed_and_so_is_the_next(unstarted):
    """As in a volume of a ConfigMap: budgets.yaml -> ..data/budgets.yaml, ..data -> ..one."""
    proxy = unstarted()
    data = proxy.directory / "..data"

    def turn(name, count):
        version = proxy.directory / name
        version.mkdir()
        (version / "budgets.yaml").write_text(changed(proxy, eight(concurrency=count)))
        os.symlink(name, proxy.directory / "..new")
        os.replace(proxy.directory / "..new", data)

    turn("..one", 5)
    proxy.file.unlink()
    proxy.file.symlink_to("..data/budgets.yaml")
    proxy.start()
    assert limit(proxy) == 5
    turn("..two", 6)
    has_limit(proxy, 6)
    turn("..three", 7)
    has_limit(proxy, 7)


# ---- all or nothing


def test_a_file_with_a_mistake_changes_nothing_and_says_where(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    put(proxy, json.dumps({**proxy.budgets, **eight(concurrency=2, queu=1)}, indent=2))
    hang_up(proxy)
    assert limit(proxy) == 24 and session.value("select 42") == "42"
    assert figure(proxy, "last_reload_successful") == 0
    assert attempts(proxy, "failure") >= 1
    mistake = events(proxy, "config_mistake")[0]
    assert "PGB-CFG-010" in mistake and f"{proxy.file}:" in mistake and "line=" in mistake
    assert events(proxy, "config_reload_failed")
    assert not events(proxy, "config_changed")
    reload(proxy, eight())
    assert limit(proxy) == 8 and figure(proxy, "last_reload_successful") == 1


def test_half_a_file_is_refused_and_its_other_half_makes_it_good(postgres, new_proxy):
    proxy = new_proxy(postgres)
    text = changed(proxy, eight())
    with open(proxy.file, "w") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        until(lambda: attempts(proxy, "failure") >= 1, within=10, what="half a file is refused")
        assert limit(proxy) == 24
        file.write(text[len(text) // 2 :])
    has_limit(proxy, 8)
    proxy.file.unlink()
    until(lambda: figure(proxy, "last_reload_successful") == 0, what="that it is gone is told")
    assert limit(proxy) == 8


def test_what_needs_a_restart_is_said_and_the_rest_is_in_force(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    before = dict(proxy.budgets)
    reload(proxy, {**eight(), "limits": {"max_prepared_statements": 7}, "admin": {"http": None}})
    assert limit(proxy) == 8 and figure(proxy, "restart_needed") == 2
    told = events(proxy, "config_restart_needed")
    assert told[0].startswith("key=limits.max_prepared_statements before=1000 after=7")
    assert told[1].startswith("key=admin.http") and told[1].endswith("after=null")
    hang_up(proxy)
    assert len(events(proxy, "config_restart_needed")) >= 4
    put(proxy, json.dumps(before))
    hang_up(proxy)
    assert limit(proxy) == 24 and figure(proxy, "restart_needed") == 0
    assert connect(proxy).value("select 42") == "42"


def test_no_password_is_told(postgres, new_proxy):
    proxy = new_proxy(postgres)
    for password in (secret("opensesame"), secret("hodorhodor")):
        conninfo = f"host=127.0.0.1 port={postgres.port} password={password}"
        reload(proxy, {"databases": {"*": {"conninfo": conninfo}}})
    log = proxy.log()
    assert "key=databases[*].conninfo" in log and "password=***" in log
    assert "opensesame" not in log and "hodorhodor" not in log


# ---- what is live


def test_a_transaction_keeps_its_workload_and_the_next_one_has_the_new(
    postgres, new_proxy, connect
):
    """From one workload, where nobody chooses, to two, and back."""
    proxy = new_proxy(postgres, {"workloads": LANES[1:]})
    session = connect(proxy, application_name="reports")
    other = connect(proxy, application_name="reports")
    session.query("begin")
    session.query("select 1")
    reload(proxy, {"workloads": LANES})
    assert (proxy.running("default"), proxy.running("reports")) == (1, 0)
    session.query("commit")
    session.query("begin")
    session.query("select 1")
    assert (proxy.running("default"), proxy.running("reports")) == (0, 1)
    check_refusal(other.ask(Q("select 2"))[0], "reports", "queue_full")
    reload(proxy, {"workloads": LANES[1:]})
    assert other.value("select 2") == "2"
    session.query("commit")
    proxy.assert_clean()


def test_an_earlier_rule_and_a_rule_about_texts_count_at_once(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"workloads": LANES})
    session = connect(proxy, application_name="reports")
    holder = Holder(connect, proxy, "reports")
    check_refusal(session.ask(Q("select 2"))[0], "reports", "queue_full")
    text = {"name": "texts", "match": {"query": "special"}, "concurrency": 2, "sqlstate": "53400"}
    reload(proxy, {"workloads": [text, *LANES]})
    before = proxy.metrics().admitted("texts")
    assert session.value("select 2 /* special */") == "2"
    assert proxy.metrics().admitted("texts") == before + 1
    check_refusal(session.ask(Q("select 2"))[0], "reports", "queue_full")
    reload(proxy, {"workloads": workload(LANES, "reports", sqlstate="53400")})
    check_refusal(session.ask(Q("select 2"))[0], "reports", "queue_full", code="53400")
    holder.release()


def test_a_session_that_keeps_its_backend_outlives_its_workload(postgres, new_proxy, connect):
    kept = {"name": "kept", "match": {"application_name": "kept"}, "pooling": "session"}
    proxy = new_proxy(postgres, {"workloads": [{**kept, "concurrency": 1}, *LANES]})
    session = connect(proxy, application_name="kept")
    pid = session.value("select pg_backend_pid()")
    reload(proxy, {"workloads": LANES})
    before = proxy.metrics().admitted("default")
    assert session.value("select pg_backend_pid()") == pid
    assert proxy.metrics().admitted("default") == before + 1
    session.terminate()
    proxy.assert_clean()


def test_a_smaller_pool_closes_the_idle_at_once_and_the_lent_when_they_come_back(
    postgres, new_proxy, connect
):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 5}}})

    def backends():
        return postgres.count(
            "select count(*) from pg_stat_activity where usename = 'alice' and datname = 'bulkhead'"
        )

    holders = [Holder(connect, proxy) for _ in range(4)]
    until(lambda: backends() == 4, what="all are open")
    for holder in holders[:2]:
        holder.release()
    reload(proxy, {"databases": {"*": {"pool_size": 1}}})
    until(lambda: backends() == 2, what="the idle are closed")
    holders[2].release()
    until(lambda: backends() == 1, what="the one that came back is closed")
    assert holders[3].session.value("select 42") == "42"
    holders[3].release()
    reload(proxy, {"databases": {"*": {"pool_size": 4}}})
    more = [Holder(connect, proxy) for _ in range(3)]
    until(lambda: backends() == 3, what="as many as there may be now")
    for holder in more:
        holder.release()
    proxy.assert_clean()


def test_limits_of_clients_hold_for_those_who_are_there(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    session = connect(proxy)
    reload(proxy, {"limits": {"client_idle_timeout": "50ms"}})
    assert session.read().fields()["C"] == "57P05"
    reload(proxy, {"limits": {"client_idle_timeout": "0", "max_clients": 1}})
    connect(proxy)
    refused = connect(proxy, login=False)
    refused.send(startup({"user": "alice", "database": "bulkhead"}))
    assert refused.read().fields()["C"] == "53300"


# ---- under load


class Client(Worker):
    """Transactions in a row."""

    def turn(self):
        assert self.session.value(f"select {self.done}") == str(self.done)


# Nobody is refused in them.
WIDE = [{**lane, "queue": CLIENTS, "queue_wait": "60s"} for lane in LANES]


def files(proxy):
    """A reload's file each: some good, some bad; up and down, with and without a workload."""
    good = [
        {"workloads": WIDE},
        {"workloads": WIDE},
        {"workloads": workload(WIDE, "default", concurrency=1)},
        {"workloads": workload(WIDE, "default", mode="shadow")},
        {"workloads": WIDE[1:], "databases": {"*": {"pool_size": 2}}},
        {"workloads": [{**WIDE[0], "name": "another"}, *WIDE]},
        {"workloads": WIDE, "databases": {"*": {"pool_size": 6}}},
    ]
    texts = [changed(proxy, each) for each in good]
    return [*texts, texts[0][:-20], "workloads: []\n"]


def is_in_force(proxy, text):
    """What the metrics say of the limits is what the file says, if it is a good one."""
    try:
        workloads = json.loads(text)["workloads"]
    except ValueError:
        return True
    metrics = proxy.metrics()
    return all(
        metrics.gauge("configured", each["name"]) == 1
        and metrics.gauge("concurrency_limit", each["name"]) == each["concurrency"]
        for each in workloads
    )


def test_many_reloads_under_load_cost_nobody_anything(postgres, new_proxy):
    proxy = new_proxy(postgres, {"workloads": WIDE, "databases": {"*": {"pool_wait": "60s"}}})
    texts = files(proxy)
    clients = [Client(proxy.address, ("reports", "other")[i % 2]) for i in range(CLIENTS)]
    with at_work(clients):
        for i in range(RELOADS):
            text = texts[i % len(texts)]
            put(proxy, text)
            hang_up(proxy)
            assert is_in_force(proxy, text)
            if i == RELOADS // 4:
                settled = proxy.resources()
        put(proxy, texts[0])
        hang_up(proxy)
    assert all(client.done for client in clients)
    assert attempts(proxy, "success") > RELOADS * 0.75
    assert attempts(proxy, "failure") > RELOADS * 0.2
    assert (limit(proxy), limit(proxy, "reports")) == (8, 1)
    proxy.assert_clean()
    assert proxy.resources()[0] <= settled[0] + 8
    if "PGBULKHEAD_TEST_NO_RSS" not in os.environ:
        assert proxy.resources()[1] <= settled[1] + 8192
