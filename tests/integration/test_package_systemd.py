"""The Debian package under a real systemd: what deploy/README.md has its reader type, in that order."""

import os
import subprocess

import pytest

from support.package import made_package, reason_against
from support.postgres import DATABASE
from support.proxy import run
from support.systemd import Systemd, archive
from support.systemd import reason_against as reason_against_systemd
from support.waiting import free_port, until

pytestmark = pytest.mark.needs_proxy

PACKAGE = "/var/tmp/pgbulkhead.deb"
BUDGETS = "/etc/pgbulkhead/budgets.yaml"


class Machine(Systemd):
    """One to which the package has been brought, and nothing else done."""

    def __init__(self, folder, package, postgres):
        self.port, self.admin_port, self.postgres = free_port(), free_port(), postgres
        files = {
            PACKAGE.lstrip("/"): package,
            "etc/systemd/system/trial.target": "[Unit]\nDescription=What the test wants\n",
        }
        super().__init__(folder, archive(folder, files))

    def edit(self):
        """What an administrator would: the address of PostgreSQL, and here ports that are free."""
        for old, new in (("port=5432", f"port={self.postgres.port}"), ("port: 6432", f"port: {self.port}")):
            assert self.run("sed", "-i", f"s/{old}/{new}/", BUDGETS) == ""
        admin = f"\nadmin:\n  http: 127.0.0.1:{self.admin_port}\n"
        assert self.run("sh", "-c", f"printf '{admin}' >> {BUDGETS}") == ""

    def answer(self, password="right-and-secret"):
        place = f"host=127.0.0.1 port={self.port} user=locked dbname={DATABASE}"
        done = subprocess.run(["psql", "-qAtc", "select 'served'", place], capture_output=True, text=True, check=False,
                              env={**os.environ, "PGPASSWORD": password})  # fmt: skip
        return (done.stdout + done.stderr).strip()

    def state(self):
        return self.show("pgbulkhead.service", "ActiveState")[0]


@pytest.fixture(scope="module")
def machine(postgres, tmp_path_factory):
    if why := reason_against_systemd() or reason_against():
        pytest.skip(why)
    package = made_package(tmp_path_factory.mktemp("package"))
    made = Machine(tmp_path_factory.mktemp("systemd"), package, postgres)
    yield made
    made.end()


def test_from_the_package_to_the_first_answer_and_back(machine):
    said = machine.run("dpkg", "--install", PACKAGE)
    assert "Setting up pgbulkhead" in said and "rror" not in said, said
    assert machine.state() == "inactive", "the budgets want to be read first"
    assert "pgbulkhead:" in machine.run("getent", "passwd", "pgbulkhead")
    assert "concurrency: 16" in machine.run("pgbulkhead", "check", "-c", BUDGETS)

    machine.edit()
    said = machine.run("systemctl", "enable", "--now", "pgbulkhead")
    assert "Created symlink" in said and machine.state() == "active", said
    assert machine.answer() == "served"
    assert "password authentication failed" in machine.answer("wrong"), "PostgreSQL is asked"
    assert run("healthcheck", "--url", f"http://127.0.0.1:{machine.admin_port}", "--ready").returncode == 0
    socket = f"/run/pgbulkhead/.s.PGSQL.{machine.port}"
    assert machine.run("stat", "-c", "%U %a %F", socket) == "pgbulkhead 777 socket"

    # A secret for it alone.
    machine.run("sh", "-c", "umask 077; echo secret > /etc/pgbulkhead/secret; chgrp pgbulkhead /etc/pgbulkhead/secret")
    machine.run("chmod", "640", "/etc/pgbulkhead/secret")
    pid = machine.show("pgbulkhead.service", "MainPID")[0]
    user, group = machine.run("stat", "-c", "%u %g", f"/proc/{pid}").split()
    assert machine.run("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "cat",
                       "/etc/pgbulkhead/secret") == "secret"  # fmt: skip

    said = machine.run("dpkg", "--install", PACKAGE)
    assert "Setting up pgbulkhead" in said and "rror" not in said, said
    assert machine.show("pgbulkhead.service", "MainPID")[0] not in ("0", pid), "the newer version has taken over"
    until(lambda: machine.answer() == "served", what="it serves with the budgets that were edited")

    said = machine.run("dpkg", "--remove", "pgbulkhead")
    assert "rror" not in said and machine.state() == "inactive", said
    assert f"port: {machine.port}" in machine.run("cat", BUDGETS), "budgets are kept until it is purged"
    machine.run("dpkg", "--purge", "pgbulkhead")
    assert "No such file" in machine.run("cat", BUDGETS)
