"""Logs in with real drivers: each takes a list of `Place` and says of each how it came out."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import psycopg
import pytest

from .proxy import ROOT

sys.path.insert(0, str(ROOT / "tests/drivers"))

import programs  # noqa: E402

JDBC = pathlib.Path("/usr/share/java/postgresql.jar")
ACCEPTED = "accepted"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where and as whom. `sslmode` is libpq's word; `root`, `certificate` and `key` are paths or empty."""

    host: str
    port: int
    database: str
    user: str
    password: str
    sslmode: str = "disable"
    root: str = ""
    certificate: str = ""
    key: str = ""

    def libpq(self):
        words = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "sslmode": self.sslmode,
            # A file that is not there: none of the machine's own is ever taken.
            "sslcert": self.certificate or "/nowhere",
            "sslkey": self.key or "/nowhere",
            "gssencmode": "disable",
        }
        if self.root:
            words["sslrootcert"] = self.root
        if self.host == "localhost":
            words["hostaddr"] = "127.0.0.1"
        return words


def _said(text):
    """What the server or libpq said, without where it was said and without what the proxy adds."""
    return text.rsplit("failed:", 1)[-1].rsplit("FATAL:", 1)[-1].split("HINT:")[0].strip()


def by_psycopg(places):
    outcomes = []
    for place in places:
        try:
            with psycopg.connect(**place.libpq(), password=place.password) as connection:
                who = connection.execute("select session_user").fetchone()[0]
            outcomes.append(ACCEPTED if who == place.user else f"logged in as {who}")
        except psycopg.OperationalError as error:
            outcomes.append(_said(str(error)))
    return outcomes


def by_psql(places):
    return [_psql(place) for place in places]


def _psql(place):
    words = " ".join(f"{name}='{value}'" for name, value in place.libpq().items())
    done = subprocess.run(
        ["psql", "-XAtwc", "select session_user", words],
        env={**os.environ, "PGPASSWORD": place.password, "PGCLIENTENCODING": "UTF8"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ACCEPTED if done.stdout.strip() == place.user else _said(done.stderr) + done.stdout


def by_node(places):
    missing = programs.node_modules()
    if missing:
        pytest.skip(f"node-postgres: {missing}")
    done = subprocess.run(
        ["node", str(programs.HERE / "node/log_in.js")],
        input=json.dumps([dataclasses.asdict(place) for place in places]),
        env={**os.environ, "NODE_PATH": str(programs.BUILD / "node/node_modules")},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def by_jdbc(places):
    if not JDBC.exists():
        pytest.skip("there is no pgJDBC; scripts/setup --drivers")
    done = subprocess.run(
        ["java", "-cp", str(JDBC), str(programs.HERE / "java/LogIn.java")],
        input="\n".join("\t".join(map(str, dataclasses.astuple(place))) for place in places),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return done.stdout.splitlines()
