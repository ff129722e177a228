"""The units of deploy/systemd under a real systemd: its sandbox, its watchdog, its socket."""

import json
import threading

import pytest

from support.postgres import DATABASE
from support.proxy import ROOT, binary
from support.systemd import Systemd, archive, reason_against
from support.waiting import PATIENCE, free_port, until
from support.wire import Address, Session

pytestmark = pytest.mark.needs_proxy

SERVICE, DOOR = "pgbulkhead.service", "pgbulkhead.socket"
UNITS = ROOT / "deploy/systemd"


class Machine(Systemd):
    """One on which the units have been installed as deploy/systemd says, for PostgreSQL at `postgres`."""

    def __init__(self, folder, postgres):
        self.address = Address("127.0.0.1", free_port())
        self.budgets = {
            "listen": [{"name": "app", "address": "127.0.0.1", "port": self.address.port}],
            "databases": {"*": {"conninfo": f"host=127.0.0.1 port={postgres.port}"}},
            "workloads": [{"name": "default", "concurrency": 8}],
            "admin": {"http": f"127.0.0.1:{free_port()}"},
        }
        door = (UNITS / DOOR).read_text().replace("127.0.0.1:6432", f"127.0.0.1:{self.address.port}")
        watchdog = f"[Service]\nWatchdogSec={2 * PATIENCE}\n"
        files = {
            "usr/bin/pgbulkhead": binary().resolve(),
            "etc/pgbulkhead/budgets.yaml": json.dumps(self.budgets) + "\n",
            f"etc/systemd/system/{SERVICE}": UNITS / SERVICE,
            f"etc/systemd/system/{SERVICE}.d/impatient.conf": watchdog,
            f"etc/systemd/system/{DOOR}": door,
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
    if why := reason_against():
        pytest.skip(why)
    # The leak sanitizer looks into the process from a second one, which the sandbox forbids.
    if b"__asan_init" in binary().read_bytes():
        pytest.skip("a build with sanitizers does not live in the sandbox")
    made = Machine(tmp_path_factory.mktemp("systemd"), postgres)
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
    served.run("sh", "-c", "echo nonsense >> /etc/pgbulkhead/budgets.yaml")
    until(lambda: "refused" in served.show(SERVICE, "StatusText")[0], what="the status says that it was refused")
    assert served.answer() == "served"
    # With such a file it would not start, and says where the mistake is.
    served.run("systemctl", "stop", DOOR, SERVICE)
    assert "failed" in served.run("systemctl", "start", SERVICE)
    assert "PGB-CFG-" in served.run("journalctl", "--unit", SERVICE, "--no-pager")
    served.run("sh", "-c", "sed -i /nonsense/d /etc/pgbulkhead/budgets.yaml")


def test_one_that_hangs_is_started_anew(served):
    first = served.main_pid()
    served.run("kill", "-STOP", str(first))
    until(lambda: served.main_pid() not in (0, first), within=10, what="another process serves")
    until(lambda: served.state() == ["active", "running"], what="it is up")
    assert served.answer() == "served"
