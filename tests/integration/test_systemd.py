"""The package on a machine with a real systemd: installed, started, restarted, reloaded, hung, upgraded, removed."""

import json
import os
import subprocess
import threading

import pytest

from support import package, systemd
from support.postgres import DATABASE
from support.systemd import Systemd, archive
from support.waiting import PATIENCE, free_port, until
from support.wire import Address, Session

pytestmark = pytest.mark.needs_proxy

SERVICE, DOOR = "pgbulkhead.service", "pgbulkhead.socket"
BUDGETS = "etc/pgbulkhead/budgets.yaml"


class Machine(Systemd):
    """One on which the package has been installed, with budgets for PostgreSQL at `postgres`, and other ports than the usual
    ones, as the network is not its own."""

    def __init__(self, folder, file, postgres):
        self.address = Address("127.0.0.1", free_port())
        budgets = {
            "listen": [{"name": "app", "address": "127.0.0.1", "port": self.address.port}],
            "databases": {"*": {"conninfo": f"host=127.0.0.1 port={postgres.port}"}},
            "workloads": [{"name": "default", "concurrency": 8}],
            "admin": {"http": f"127.0.0.1:{free_port()}"},
        }
        files = {
            "opt/pgbulkhead.deb": file,
            "opt/budgets.yaml": json.dumps(budgets) + "\n",
            f"etc/systemd/system/{SERVICE}.d/impatient.conf": f"[Service]\nWatchdogSec={2 * PATIENCE}\n",
            f"etc/systemd/system/{DOOR}.d/port.conf": f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{self.address.port}\n",
            "etc/systemd/system/trial.target": "[Unit]\nDescription=What the test wants\n",
        }
        super().__init__(folder, archive(folder, files))

    def state(self):
        return self.show(SERVICE, "ActiveState", "SubState")

    def main_pid(self):
        return int(self.show(SERVICE, "MainPID")[0])

    def answer(self):
        session = Session(self.address, {"user": "alice", "database": DATABASE})
        value = session.value("select 'served'")
        session.terminate()
        return value


@pytest.fixture(scope="module")
def machine(postgres, tmp_path_factory):
    if why := package.reason_against() or systemd.reason_against():
        pytest.skip(why)
    file = package.made_package(tmp_path_factory.mktemp("package"))
    made = Machine(tmp_path_factory.mktemp("systemd"), file, postgres)
    said = made.run("dpkg", "--install", "/opt/pgbulkhead.deb")
    assert "Setting up pgbulkhead" in said and "rror" not in said, said
    # Neither starts by itself, and the budgets that come with it are good.
    assert made.state()[0] == "inactive" and made.show(DOOR, "ActiveState") == ["inactive"]
    assert "method: passthrough" in made.run("pgbulkhead", "check", "-c", f"/{BUDGETS}")
    made.run("cp", "/opt/budgets.yaml", f"/{BUDGETS}")
    yield made
    made.end()


@pytest.fixture
def served(machine):
    """Both units are up."""
    assert machine.run("systemctl", "start", DOOR, SERVICE) == ""
    assert machine.state() == ["active", "running"]
    yield machine
    machine.run("systemctl", "stop", DOOR, SERVICE)
    machine.run("systemctl", "reset-failed")


def test_start_returns_when_clients_get_in_and_status_says_so(machine):
    assert machine.run("systemctl", "start", SERVICE) == ""
    assert machine.answer() == "served"
    assert machine.show(SERVICE, "StatusText") == ["serving"]
    assert machine.run("systemctl", "stop", SERVICE) == ""
    assert machine.show(SERVICE, "ActiveState", "Result", "ExecMainStatus") == ["inactive", "success", "0"]


def test_the_budgets_that_come_with_it_serve_whose_password_postgresql_takes(machine, postgres):
    machine.run("dpkg-deb", "--extract", "/opt/pgbulkhead.deb", "/opt/own")
    machine.run("cp", f"/opt/own/{BUDGETS}", f"/{BUDGETS}")
    # What an administrator would edit; the ports, since the network is not its own.
    for old, new in (("port=5432", f"port={postgres.port}"), ("port: 6432", f"port: {machine.address.port}")):
        assert machine.run("sed", "-i", f"s/{old}/{new}/", f"/{BUDGETS}") == ""
    machine.run("sh", "-c", f"echo 'admin: {{http: 127.0.0.1:{free_port()}}}' >> /{BUDGETS}")
    assert machine.run("systemctl", "start", SERVICE) == ""
    assert by_psql(machine, "right-and-secret") == "served"
    assert "password authentication failed" in by_psql(machine, "wrong")
    socket = f"/run/pgbulkhead/.s.PGSQL.{machine.address.port}"
    assert machine.run("stat", "-c", "%U %a %F", socket) == "pgbulkhead 777 socket", "the user that secrets can be given to"
    machine.run("systemctl", "stop", SERVICE)
    machine.run("cp", "/opt/budgets.yaml", f"/{BUDGETS}")


def by_psql(machine, password):
    place = f"host=127.0.0.1 port={machine.address.port} user=locked dbname={DATABASE}"
    env = {**os.environ, "PGPASSWORD": password}
    command = ["psql", "-qAtc", "select 'served'", place]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return (done.stdout + done.stderr).strip()


def test_it_has_no_rights_and_nowhere_to_write(served):
    status = served.read(f"/proc/{served.main_pid()}/status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["CapEff"] == facts["CapBnd"] == "0" * 16
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    assert "0" not in facts["Uid"].split()
    assert served.answer() == "served"


def test_the_first_client_starts_it(machine):
    assert machine.run("systemctl", "start", DOOR) == ""
    assert machine.state()[0] == "inactive"
    assert machine.answer() == "served"
    assert machine.state() == ["active", "running"]
    machine.run("systemctl", "stop", DOOR, SERVICE)


def test_a_restart_loses_no_attempt_to_connect(served):
    over, failed, count = threading.Event(), [], [0]

    def knock():
        while not over.is_set():
            try:
                assert served.answer() == "served"
                count[0] += 1
            except Exception as problem:  # pylint: disable=broad-except
                failed.append(repr(problem))

    knocking = threading.Thread(target=knock, daemon=True)
    knocking.start()
    for _ in range(2):
        before = count[0]
        until(lambda: count[0] > before + 10, what="they are served")
        assert served.run("systemctl", "restart", SERVICE) == ""
    before = count[0]
    until(lambda: count[0] > before + 10, what="they are served again")
    over.set()
    knocking.join()
    assert all("57P01" in text or "57P03" in text for text in failed), failed


def test_a_reload_is_seen_and_a_bad_file_too(served):
    assert served.run("systemctl", "reload", SERVICE) == ""
    until(lambda: served.show(SERVICE, "StatusText") == ["serving"], what="it serves")
    served.run("sh", "-c", f"echo nonsense >> /{BUDGETS}")
    until(lambda: "refused" in served.show(SERVICE, "StatusText")[0], what="the status says that it was refused")
    assert served.answer() == "served"
    # With such a file it would not start, and says where the mistake is.
    served.run("systemctl", "stop", DOOR, SERVICE)
    assert "failed" in served.run("systemctl", "start", SERVICE)
    assert "PGB-CFG-" in served.run("journalctl", "--unit", SERVICE, "--no-pager")
    served.run("sh", "-c", f"sed -i /nonsense/d /{BUDGETS}")


def test_one_that_hangs_is_started_anew(served):
    first = served.main_pid()
    served.run("kill", "-STOP", str(first))
    until(lambda: served.main_pid() not in (0, first), within=10, what="another process serves")
    until(lambda: served.state() == ["active", "running"], what="it is up")
    assert served.answer() == "served"


def test_an_upgrade_restarts_it_and_a_removal_ends_it(machine):
    machine.run("systemctl", "enable", "--now", DOOR, SERVICE)
    first = machine.main_pid()
    budgets = machine.read(f"/{BUDGETS}")
    assert "Setting up pgbulkhead" in machine.run("dpkg", "--force-confold", "--install", "/opt/pgbulkhead.deb")
    assert machine.main_pid() not in (0, first) and machine.read(f"/{BUDGETS}") == budgets
    assert machine.answer() == "served"
    assert "Removing pgbulkhead" in machine.run("dpkg", "--remove", "pgbulkhead")
    assert machine.state()[0] in ("inactive", "failed") and machine.read(f"/{BUDGETS}") == budgets
    with pytest.raises(OSError):
        machine.answer()
    machine.run("dpkg", "--purge", "pgbulkhead")
    assert "No such file" in machine.read(f"/{BUDGETS}")
