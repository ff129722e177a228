"""The program as an operator sees it: start and stop, mistakes, probes, metrics, logs."""

import json
import os
import re
import socket
import stat
import urllib.error
import urllib.request

import pytest

from support.lanes import WORKLOADS, Holder, queued
from support.messages import Q, query_batch
from support.proxy import run
from support.secrets import secret
from support.waiting import until
from support.wire import Closed, ServerError

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"workloads": WORKLOADS})


# ---- mistakes at the start


COMPLAINT = re.compile(r"^(.+):(\d+):(\d+): PGB-CFG-\d{3}: \S.*$")


def complaints(text):
    return [line for line in text.splitlines() if COMPLAINT.match(line)]


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_bad_file_is_refused_with_all_its_complaints_at_once(unstarted, command):
    proxy = unstarted(
        {
            "workloads": [
                {"name": "default", "concurency": 3, "queue_wait": "fast", "concurrency": 0}
            ],
            "limits": {"max_clients": "many"},
            "nonsense": 1,
        }
    )
    done = run(command, "-c", proxy.file)
    assert done.returncode == 2
    found = complaints(done.stderr)
    assert len(found) >= 5, done.stderr
    assert all(line.startswith(str(proxy.file)) for line in found)
    assert re.search(r"concurency.*did you mean.*concurrency", done.stderr), done.stderr


def test_a_file_that_is_no_yaml_is_refused(unstarted):
    proxy = unstarted()
    proxy.file.write_text("workloads: [\n  }")
    done = run("run", "-c", proxy.file)
    assert done.returncode == 2 and complaints(done.stderr)


def test_a_file_that_does_not_exist_is_refused(tmp_path):
    done = run("run", "-c", tmp_path / "nowhere.yaml")
    assert done.returncode == 2 and "nowhere.yaml" in done.stderr


def test_trust_beyond_loopback_is_refused(unstarted):
    proxy = unstarted()
    proxy.budgets["listen"][0]["address"] = "0.0.0.0"
    proxy.file.write_text(json.dumps(proxy.budgets))
    done = run("run", "-c", proxy.file)
    assert done.returncode == 2 and complaints(done.stderr)
    assert "trust" in done.stderr


def test_a_port_in_use_is_a_clear_line_and_an_exit(unstarted):
    proxy = unstarted()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", proxy.port))
        taken.listen()
        done = run("run", "-c", proxy.file)
    assert done.returncode in (1, 2)
    assert str(proxy.port) in done.stderr and "in use" in done.stderr


def test_an_admin_port_in_use_is_a_clear_line_and_an_exit(unstarted):
    proxy = unstarted()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", proxy.admin_port))
        taken.listen()
        done = run("run", "-c", proxy.file)
    assert done.returncode in (1, 2)
    assert str(proxy.admin_port) in done.stderr


def test_a_good_file_is_checked_and_printed_without_its_secrets(unstarted):
    proxy = unstarted({"databases": {"*": {"conninfo": f"host=127.0.0.1 password={secret('opensesame')}"}}})
    done = run("check", "-c", proxy.file)
    assert done.returncode == 0, done.stderr
    assert "default" in done.stdout and "opensesame" not in done.stdout + done.stderr


def test_a_version_is_printed():
    done = run("--version")
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


@pytest.mark.parametrize("args", [["dance"], ["run", "--nonsense"], ["run", "-c"]])
def test_a_wrong_command_line_is_refused(args):
    done = run(*args)
    assert done.returncode == 2 and done.stderr


def test_it_starts_while_postgresql_is_down(postgres, new_proxy):
    proxy = new_proxy(postgres, {"databases": {"*": {"conninfo": "host=127.0.0.1 port=1"}}})
    assert proxy.get("/healthz")[0] == 200


# ---- doors


def test_the_unix_socket_has_its_mode_and_is_removed_at_the_end(postgres, new_proxy):
    proxy = new_proxy(postgres)
    path = proxy.unix_address.host
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o770
    proxy.stop()
    assert not os.path.exists(path)


def test_a_stale_unix_socket_is_replaced(unstarted, connect):
    proxy = unstarted()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(proxy.unix_address.host)
    proxy.start()
    assert connect(proxy, address=proxy.unix_address).value("select 42") == "42"
    proxy.stop()


def test_a_unix_socket_that_somebody_listens_on_is_not_taken(unstarted):
    proxy = unstarted()
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(proxy.unix_address.host)
        taken.listen()
        done = run("run", "-c", proxy.file)
    assert done.returncode in (1, 2) and proxy.unix_address.host in done.stderr


# ---- probes and metrics


def test_health_and_readiness_are_200_while_all_is_well(proxy):
    assert proxy.get("/healthz")[0] == 200
    assert proxy.get("/readyz")[0] == 200


def test_a_full_budget_is_ready(proxy, connect):
    Holder(connect, proxy, "tight")
    connect(proxy, application_name="tight").ask(Q("select 1 + 0"))
    status, text = proxy.get("/readyz")
    assert status == 200
    assert re.fullmatch(
        r"ready\n"
        r"workload tight is overloaded: running 1 of 1, waiting 0 of 0, last refusal \d+ s ago\n",
        text,
    )


def test_an_unknown_path_is_404_and_a_post_is_405(proxy):
    assert proxy.get("/nowhere")[0] == 404
    request = urllib.request.Request(
        f"http://127.0.0.1:{proxy.admin_port}/healthz", data=b"x", method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=5)
    assert caught.value.code == 405


def test_every_family_has_help_and_type_and_no_sample_comes_twice(proxy):
    metrics = proxy.metrics()
    described = {line.split()[2] for line in metrics.text.splitlines() if line.startswith("# HELP")}
    typed = {line.split()[2] for line in metrics.text.splitlines() if line.startswith("# TYPE")}
    names = {
        re.sub(r"_(bucket|sum|count)$", "", name) if name not in typed else name
        for name, _, _ in metrics.samples
    }
    assert names <= described & typed
    keys = [(name, tuple(sorted(labels.items()))) for name, labels, _ in metrics.samples]
    assert len(keys) == len(set(keys))


def test_the_limits_of_each_workload_are_shown(proxy):
    metrics = proxy.metrics()
    for workload in WORKLOADS:
        assert metrics.gauge("concurrency_limit", workload["name"]) == workload["concurrency"]
        assert metrics.gauge("queue_limit", workload["name"]) == workload.get("queue", 0)


def test_a_transaction_is_counted_once_whatever_its_form(proxy, connect):
    session = connect(proxy)
    forms = [
        [Q("select 1 + 0")],
        [query_batch("select 1 + 0")],
        [Q("begin"), Q("select 1 + 0"), Q("commit")],
        [Q("begin; select 1; select 2; commit")],
        [query_batch("begin"), query_batch("select 1 + 0"), query_batch("commit")],
    ]
    for chunks in forms:
        before = proxy.metrics().admitted("default")
        for chunk in chunks:
            session.ask(chunk)
        until(
            lambda at=before: proxy.metrics().admitted("default") == at + 1,
            what="one more was admitted",
        )


def test_waits_are_in_the_histogram(proxy, connect):
    name = "pgbulkhead_workload_gate_wait_seconds"
    before = proxy.metrics().sum(f"{name}_sum", workload="patient")
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 1 + 0")
    assert waiter.quiet(0.3) is None
    holder.release()
    waiter.until("Z")
    until(
        lambda: proxy.metrics().sum(f"{name}_sum", workload="patient") >= before + 0.3,
        what="the wait is counted",
    )


def test_names_of_clients_are_no_labels(proxy, connect):
    with pytest.raises(ServerError):
        connect(
            proxy,
            user="label_user",
            database="label_database",
            application_name="label_application",
        )
    connect(proxy, application_name="label_application").query("select 1 + 0")
    assert "label_" not in proxy.metrics().text


def test_the_log_has_one_escaped_line_per_event(proxy, connect):
    with pytest.raises((ServerError, Closed)):
        connect(proxy, user="two\nlines", database="a\x1b[31mred")
    log = proxy.log()
    assert log and all(
        re.match(r"^\S*=\S|^\{|^\d", line) for line in log.splitlines() if line
    ), log[:500]
    assert "\x1b" not in log
