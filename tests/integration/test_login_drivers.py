"""Drivers that bring their own SCRAM log in through the proxy as they do directly."""

import json
import os
import pathlib
import subprocess
import sys

import psycopg
import pytest

from support.postgres import DATABASE
from support.proxy import ROOT

sys.path.insert(0, str(ROOT / "tests/drivers"))

import programs  # noqa: E402

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
JDBC = pathlib.Path("/usr/share/java/postgresql.jar")
USERS = {
    "proven_by_driver": "a usual one: \" \\ '",
    "proven_by_driver_long": "x" * 1024,
    "proven_by_driver_abroad": "\u00e9\u00df\u65e5\u672c",
}
ATTEMPTS = [
    *((DATABASE, user, password) for user, password in USERS.items()),
    *((DATABASE, user, "wrong") for user in USERS),
    ("no_such_db", "proven_by_driver", USERS["proven_by_driver"]),
    ("no_such_db", "proven_by_driver", "wrong"),
]


@pytest.fixture(scope="module")
def server(postgres):
    for user, password in USERS.items():
        text = password.replace("'", "''")
        postgres.sql(f"create role {user} login in role proven password '{text}'")
    return postgres


@pytest.fixture(scope="module")
def doors(module_proxy, server, tmp_path_factory):
    """One proxy with a door for each method; their ports."""
    path = tmp_path_factory.mktemp("users") / "users.txt"
    lines = []
    for user, password in USERS.items():
        doubled = password.replace('"', '""')
        lines.append(f'"{user}" "{doubled}"\n')
    path.write_text("".join(lines))
    by_scram = {"auth": {"method": "scram-sha-256", "users_file": str(path)}}
    methods = [by_scram, {"auth": {"method": "passthrough"}}]
    return [module_proxy(server, changes).port for changes in methods]


def by_psycopg(places):
    outcomes = []
    for port, database, user, password in places:
        try:
            connection = psycopg.connect(
                host="127.0.0.1", port=port, dbname=database, user=user, password=password
            )
            outcomes.append(connection.execute("select session_user").fetchone()[0] == user)
            connection.close()
        except psycopg.OperationalError as error:
            outcomes.append(str(error).rsplit("FATAL:", 1)[-1].strip())
    return outcomes


def by_psql(places):
    outcomes = []
    for port, database, user, password in places:
        done = subprocess.run(
            ["psql", "-XAtc", "select session_user", "-h", "127.0.0.1", "-p", str(port)]
            + ["-U", user, "-d", database],
            env={**os.environ, "PGPASSWORD": password, "PGCLIENTENCODING": "UTF8"},
            capture_output=True,
            text=True,
            check=False,
        )
        outcomes.append(done.stdout or done.stderr.rsplit("FATAL:", 1)[-1].strip())
    return outcomes


def by_node(places):
    missing = programs.node_modules()
    if missing:
        pytest.skip(f"node-postgres: {missing}")
    keys = ("port", "database", "user", "password")
    done = subprocess.run(
        ["node", str(programs.HERE / "node/log_in.js")],
        input=json.dumps([dict(zip(keys, place)) for place in places]),
        env={**os.environ, "NODE_PATH": str(programs.BUILD / "node/node_modules")},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def by_jdbc(places):
    if not FULL:
        pytest.skip("PGBULKHEAD_TEST_FULL=1 starts a JVM")
    if not JDBC.exists():
        pytest.skip("there is no pgJDBC; scripts/setup --drivers")
    done = subprocess.run(
        ["java", "-cp", str(JDBC), str(programs.HERE / "java/LogIn.java")],
        input="\n".join("\t".join(map(str, place)) for place in places),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("driver", [by_psycopg, by_psql, by_node, by_jdbc])
def test_a_driver_logs_in_and_is_refused_as_by_postgresql(server, doors, driver):
    ports = [server.port, *doors]
    outcomes = driver([(port, *attempt) for port in ports for attempt in ATTEMPTS])
    count = len(ATTEMPTS)
    direct = outcomes[:count]
    assert len(set(map(str, direct[: len(USERS)]))) >= 1 and len(set(map(str, direct))) > 2
    assert outcomes[count : 2 * count] == direct
    assert outcomes[2 * count :] == direct
