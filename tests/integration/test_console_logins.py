"""Who gets into the console and when: by every method, while all is full, and while PostgreSQL is down;
with drivers that are no libpq."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys

import asyncpg
import psycopg
import pytest

from support.lanes import WORKLOADS, Holder, queued
from support.messages import startup
from support.proxy import ROOT
from support.secrets import secret
from support.waiting import PATIENCE, free_port

sys.path.insert(0, str(ROOT / "tests/drivers"))

import programs  # noqa: E402

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
JDBC = pathlib.Path("/usr/share/java/postgresql.jar")
USER, PASSWORD = "proven_admin", secret("swordfish-of-the-console")
ADMIN = {"console_users": [USER, "admin"]}


@pytest.fixture(scope="module")
def server(postgres):
    postgres.sql(f"create role {USER} login in role proven password '{PASSWORD}'")
    return postgres


@pytest.fixture(scope="module")
def by_scram(tmp_path_factory):
    path = tmp_path_factory.mktemp("users") / "users.txt"
    path.write_text(f'"{USER}" "{PASSWORD}"\n')
    return {"auth": {"method": "scram-sha-256", "users_file": str(path)}, "admin": ADMIN}


def log_in(proxy, password=PASSWORD, **more):
    return psycopg.connect(
        host="127.0.0.1",
        port=proxy.port,
        user=USER,
        password=password,
        dbname="pgbulkhead",
        autocommit=True,
        connect_timeout=int(10 * PATIENCE),
        **more,
    )


def change(connection):
    connection.execute("set workload default concurrency = 23")
    return connection.execute("show workloads").fetchone()[3]


def test_a_password_that_was_proved_here_may_change_things(server, new_proxy, by_scram):
    proxy = new_proxy(server, by_scram)
    with log_in(proxy) as connection:
        assert change(connection) == 23
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        log_in(proxy, "wrong")


def test_a_password_that_postgresql_has_proved_may_change_things(server, new_proxy):
    proxy = new_proxy(server, {"auth": {"method": "passthrough"}, "admin": ADMIN})
    with log_in(proxy) as connection:
        assert change(connection) == 23
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        log_in(proxy, "wrong")


@pytest.mark.parametrize("method", ["scram", "passthrough"])
def test_it_answers_while_postgresql_is_down_unless_postgresql_must_prove_the_password(
    server, new_proxy, by_scram, method
):
    changes = by_scram if method == "scram" else {"auth": {"method": "passthrough"}, "admin": ADMIN}
    nowhere = {"*": {"conninfo": f"host=127.0.0.1 port={free_port()}"}}
    proxy = new_proxy(server, {**changes, "databases": nowhere})
    if method == "passthrough":
        with pytest.raises(psycopg.OperationalError):
            log_in(proxy)
        return
    with log_in(proxy) as connection:
        assert change(connection) == 23
        assert connection.execute("show pools").fetchone()[0] == "*"


def test_it_answers_while_every_place_is_taken_and_its_own_places_are_bounded(
    postgres, new_proxy, connect
):
    proxy = new_proxy(
        postgres,
        {
            "workloads": WORKLOADS,
            "limits": {"max_clients": 2},
            "databases": {"*": {"pool_size": 1, "pool_wait": "60s"}},
        },
    )
    holder = Holder(connect, proxy, "patient")
    waiter = queued(proxy, connect, "patient", "select 2 + 0")

    def try_in(database, address=None):
        session = connect(proxy, login=False, address=address)
        session.send(startup({"user": "admin", "database": database}))
        last = session.until("Z")[-1]
        return last.fields()["C"] if last.kind == "E" else "in"

    assert try_in("bulkhead") == "53300"
    # Two places are kept for who may change things, as a name over TCP may not.
    assert [try_in("pgbulkhead") for _ in range(7)] == ["in"] * 6 + ["53300"]
    by_name = [try_in("pgbulkhead", proxy.unix_address) for _ in range(3)]
    assert by_name == ["in"] * 2 + ["53300"]
    assert try_in("bulkhead") == "53300"
    holder.release()
    waiter.until("Z")


def test_a_database_of_that_name_is_a_client_like_others_when_the_console_has_another(
    postgres, new_proxy, connect
):
    proxy = new_proxy(postgres, {"admin": {"console_database": "desk"}})
    assert connect(proxy, database="desk").query("show version")
    session = connect(proxy, login=False)
    session.send(startup({"user": "alice", "database": "pgbulkhead"}))
    assert session.until("E")[-1].fields()["C"] == "3D000"


# ---- drivers


def test_node_postgres_works_with_it(server, new_proxy, by_scram):
    missing = programs.node_modules()
    if missing:
        pytest.skip(f"node-postgres: {missing}")
    proxy = new_proxy(server, by_scram)
    done = subprocess.run(
        ["node", str(programs.HERE / "node/console.js")],
        input=json.dumps({"port": proxy.port, "user": USER, "password": PASSWORD}),
        env={**os.environ, "NODE_PATH": str(programs.BUILD / "node/node_modules")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "equal": True,
        "limit": "7",
        "code": "42601",
        "hint": "Did you mean show? SHOW HELP lists what there is.",
    }


def test_asyncpg_works_with_it(server, new_proxy, by_scram):
    proxy = new_proxy(server, by_scram)

    async def work():
        pool = await asyncpg.create_pool(
            host="127.0.0.1",
            port=proxy.port,
            user=USER,
            password=PASSWORD,
            database="pgbulkhead",
            min_size=1,
            max_size=1,
        )
        for _ in range(2):
            async with pool.acquire() as connection:
                await connection.execute("set workload default concurrency = 7")
                async with connection.transaction():
                    rows = await connection.fetch("show workloads")
                with pytest.raises(asyncpg.PostgresSyntaxError):
                    await connection.fetch("shwo workloads")
        await pool.close()
        return rows[0]["limit"], rows[0]["queue_wait_s"]

    assert asyncio.run(work()) == (7, 10.0)


def test_pgjdbc_works_with_it(server, new_proxy, by_scram):
    if not FULL:
        pytest.skip("PGBULKHEAD_TEST_FULL=1 starts a JVM")
    if not JDBC.exists():
        pytest.skip("there is no pgJDBC; scripts/setup --drivers")
    proxy = new_proxy(server, by_scram)
    done = subprocess.run(
        ["java", "-cp", str(JDBC), str(programs.HERE / "java/Console.java")]
        + [str(proxy.port), USER, PASSWORD],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "42601 7"), done.stderr
