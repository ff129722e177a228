"""`pgbulkhead plan`: the file's connections against what a live PostgreSQL takes."""

import json
import os
import signal

import pytest

from support.postgres import DATABASE, Postgres
from support.proxy import run
from support.waiting import free_port, until

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def small():
    """A PostgreSQL of 41 connections, 10 of which it keeps for superusers; the test's administrator
    has one, so that 30 are left."""
    server = Postgres(max_connections="41")
    server.sql("create role app login; create role watch login; grant pg_monitor to watch")
    server.sql("create role tight login connection limit 5")
    server.sql("create role guarded login password 'other'; grant proven to guarded")
    server.sql("create database narrow connection limit 6")
    yield server
    server.remove()


def entry(server, user="app", more="", **keys):
    return {"conninfo": f"host=127.0.0.1 port={server.port} user={user} {more}", **keys}


@pytest.fixture
def plan(tmp_path):
    """`plan(databases, fleet, *options)`: (exit code, facts); the text and the JSON agree."""

    def make(databases, fleet=None, *options, workloads=None):
        file = tmp_path / "budgets.yaml"
        budgets = {"databases": databases, "fleet": {"other_connections": 1, **(fleet or {})}}
        budgets["workloads"] = workloads or [{"name": "default", "concurrency": 4}]
        file.write_text(json.dumps(budgets))
        told = run("plan", "-c", file, *options, within=30)
        done = run("plan", "-c", file, "--json", *options, within=30)
        assert told.returncode == done.returncode, (told.stderr, done.stderr)
        facts = json.loads(done.stdout)
        assert facts["good"] == (done.returncode == 0)
        for server in facts["servers"]:
            assert f"server {server['server']}" in told.stdout
        return done.returncode, facts["servers"], told.stdout

    return make


def remedies(limit):
    return {one["what"]: one["value"] for one in limit["change_one_of"]}


def test_what_fits_is_said_with_the_server_s_own_numbers(plan, small):
    code, [server], text = plan({"*": entry(small, pool_size=15)}, {"instances": 2})
    assert code == 0, text
    assert server["verdict"] == "fits" and server["trouble"] is None
    answers = server["answers"]
    assert answers["max_connections"] == 41
    assert answers["superuser_reserved_connections"] == 10
    assert answers["version"] == small.value("show server_version").split()[0]
    assert server["limits"][0]["most"] == 31 - answers["reserved_connections"]
    assert f"always: 2 × 15 + 1 = 31 of {server['limits'][0]['most']}: fits" in text


def test_a_rollout_that_does_not_fit_names_the_numbers_to_change(plan, small):
    fleet = {"instances": 2, "surge": 1, "other_connections": 3}
    code, [server], text = plan({"*": entry(small, pool_size=12)}, fleet)
    assert code == 1
    assert "always: 2 × 12 + 3 = 27 of 31: fits" in text
    assert "while a rollout runs: (2 + 1) × 12 + 3 = 39 of 31: does not fit" in text
    found = remedies(server["limits"][0])
    assert found == {
        'databases."*".pool_size': 9,
        "fleet.instances": 1,
        "fleet.surge": 0,
        "max_connections": 49,
    }


@pytest.mark.parametrize("key", ['databases."*".pool_size', "fleet.instances", "fleet.surge"])
def test_each_proposed_number_makes_it_fit(plan, small, key):
    fleet = {"instances": 2, "surge": 1, "other_connections": 3}
    _, [server], _ = plan({"*": entry(small, pool_size=12)}, fleet)
    value = remedies(server["limits"][0])[key]
    size = value if key.endswith("pool_size") else 12
    fleet.update({key.split(".")[1]: value} if key.startswith("fleet") else {})
    code, _, text = plan({"*": entry(small, pool_size=size)}, fleet)
    assert code == 0, text


def test_the_remedy_for_the_server_itself_makes_it_fit(plan):
    server = Postgres(max_connections="30")
    try:
        databases = {"*": entry(server, user="alice", pool_size=25)}
        code, [found], _ = plan(databases)
        assert code == 1
        needed = remedies(found["limits"][0])["max_connections"]
        server.settings["max_connections"] = str(needed)
        server.restart()
        assert plan(databases)[0] == 0
        server.settings["max_connections"] = str(needed - 1)
        server.restart()
        assert plan(databases)[0] == 1
    finally:
        server.remove()


def test_a_role_s_connection_limit_counts_every_pool_that_uses_it(plan, small):
    databases = {
        "a": entry(small, "tight", "dbname=postgres", pool_size=2),
        "b": entry(small, "tight", "dbname=postgres", pool_size=4),
    }
    code, [server], text = plan(databases)
    assert code == 1
    assert 'role "tight", always: 1 × 6 = 6 of 5: does not fit' in text
    role = next(limit for limit in server["limits"] if limit["kind"] == "role")
    assert role["name"] == "tight" and role["most"] == 5
    assert remedies(role)['databases."b".pool_size'] == 3
    databases["b"]["pool_size"] = 3
    assert plan(databases)[0] == 0


def test_a_database_s_connection_limit_counts(plan, small):
    code, [server], text = plan({"narrow": entry(small, pool_size=7)})
    assert code == 1
    assert 'database "narrow", always: 1 × 7 = 7 of 6: does not fit' in text
    assert [limit["kind"] for limit in server["limits"]] == ["server", "database"]
    assert plan({"narrow": entry(small, pool_size=6)})[0] == 0


def test_several_entries_of_one_server_are_added_up_however_it_is_named(plan, small):
    databases = {
        "a": entry(small, pool_size=10, more="dbname=postgres"),
        "b": entry(small, pool_size=10, more="dbname=postgres"),
        "c": {
            "conninfo": f"host={small.directory} port={small.port} user=app dbname=postgres",
            "pool_size": 11,
        },
    }
    code, [server], text = plan(databases)
    assert code == 1
    assert [one["name"] for one in server["databases"]] == ["a", "b", "c"]
    assert server["limits"][0]["each"] == 31
    assert str(small.directory) in server["server"] and "127.0.0.1" in server["server"]
    assert remedies(server["limits"][0])["the sum of their pool_size"] == 30
    # Who does not ask cannot know that they are one.
    code, apart, _ = plan(databases, {"database_connections": 40}, "--offline")
    assert code == 0 and [one["limits"][0]["each"] for one in apart] == [20, 11]


def test_two_servers_are_judged_each_by_itself(plan, small, postgres):
    databases = {
        "narrow": entry(small, pool_size=31),
        "*": entry(postgres, "alice", f"dbname={DATABASE}", pool_size=31),
    }
    code, servers, _ = plan(databases)
    assert code == 1
    assert [one["verdict"] for one in servers] == ["does not fit", "fits"]


def test_the_lock_sampler_asks_and_its_connection_counts(plan, small):
    sampler = {"conninfo": f"host=127.0.0.1 port={small.port} user=watch dbname=postgres"}
    databases = {"*": entry(small, pool_size=4, lock_sampler=sampler)}
    _, [server], text = plan(databases)
    assert server["answers"]["sees_all"] and server["limits"][0]["each"] == 5
    del databases["*"]["lock_sampler"]
    _, [server], text = plan(databases)
    assert not server["answers"]["sees_all"]
    assert "no member of pg_monitor" in text


def test_connections_of_others_that_are_open_count(plan, small, connect):
    sessions = [connect(small, user="watch", database="postgres") for _ in range(4)]
    # An administrator of the test is there, too.
    code, [server], text = plan({"*": entry(small, pool_size=27)}, {"other_connections": 2})
    assert server["limits"][0]["others"] >= 5 and code == 1, text
    assert "connections of others are open and fleet.other_connections is 2" in text
    open_now = {one["role"]: one["count"] for one in server["answers"]["open"]}
    assert open_now["watch"] == 4
    for session in sessions:
        session.terminate()
    until(lambda: small.count("select count(*) from pg_stat_activity where usename = 'watch'") == 0)


def test_a_server_that_is_down_is_said_and_planned_by_the_file(plan):
    port = free_port()
    databases = {"*": {"conninfo": f"host=127.0.0.1 port={port}", "pool_size": 20}}
    code, [server], text = plan(databases, {"database_connections": 97})
    assert code == 1
    assert "refused" in server["trouble"].lower() and server["answers"] is None
    assert f"server 127.0.0.1:{port}: fits, by the file alone" in text
    assert server["limits"][0]["verdict"] == "fits"
    code, [server], _ = plan(databases)
    assert code == 1 and server["verdict"] == "not known"


def test_offline_asks_nobody(plan, small):
    seen = small.log_end()
    databases = {"*": entry(small, pool_size=20)}
    code, [server], _ = plan(databases, {"database_connections": 97}, "--offline")
    assert code == 0 and server["answers"] is None and server["trouble"] is None
    code, [server], text = plan(databases, {"database_connections": 20}, "--offline")
    assert code == 1 and "1 × 20 + 1 = 21 of 20: does not fit" in text
    assert remedies(server["limits"][0])["fleet.database_connections"] == 21
    code, [server], text = plan(databases, {}, "--offline")
    assert code == 1 and server["verdict"] == "not known"
    assert "say fleet.database_connections" in text
    assert not small.has_seen("max_connections", seen)


def test_a_wrong_password_is_told_without_the_password(plan, small):
    secret = "never-in-any-text"
    databases = {"*": entry(small, "guarded", f"password={secret}")}
    code, [server], text = plan(databases)
    assert code == 1 and "password authentication failed" in server["trouble"]
    assert secret not in text + json.dumps(server)


def test_budgets_are_told_against_their_pools(plan, small):
    workloads = [
        {"name": "big", "concurrency": 12, "queue": 3, "queue_wait": "1s", "match": {"user": "x"}},
        {"name": "default", "concurrency": 4},
    ]
    code, [server], text = plan({"*": entry(small, pool_size=9)}, workloads=workloads)
    assert code == 0, "more permits than backends are reported and not refused"
    pool = server["databases"][0]
    assert pool["backends_for_workloads"] == 8 and pool["permits"] == 16 and pool["shared_out"]
    shares = {one["name"]: (one["share"], one["over_pool"]) for one in pool["workloads"]}
    assert shares == {"big": (6, True), "default": (2, False)}
    assert "B is more than the backends that it can use" in text


def test_a_bad_file_and_a_bad_command_line_leave_with_2(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("workloads: []")
    assert run("plan", "-c", file).returncode == 2
    assert run("plan", "--online").returncode == 2


def test_a_server_that_does_not_answer_is_given_up(plan, small):
    os.kill(small.postmaster(), signal.SIGSTOP)
    try:
        databases = {"*": entry(small, pool_size=2, connect_timeout="2s")}
        code, [server], _ = plan(databases)
        assert code == 1 and server["trouble"]
    finally:
        os.kill(small.postmaster(), signal.SIGCONT)
