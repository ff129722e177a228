"""The image: made by the Dockerfile from this build's package, run by podman as nobody on a root that it cannot write."""

import json
import os
import shutil
import subprocess

import pytest

from support.image import LIMITS, Podman, base_archive
from support.package import made_package, reason_against
from support.postgres import DATABASE
from support.proxy import ROOT, run
from support.waiting import PATIENCE, free_port, until
from support.wire import Address, Session

pytestmark = pytest.mark.needs_proxy

IMAGE = "localhost/pgbulkhead"
BASE = "localhost/debian-here"


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    """With the image in its store."""
    if os.geteuid() != 0 or not shutil.which("podman"):
        pytest.skip("it takes podman, and here root to run it")
    if why := reason_against():
        pytest.skip(why)
    made = Podman(tmp_path_factory.mktemp("podman"))
    try:
        if why := made.reason_against(base_archive(made.folder), BASE):
            pytest.skip(why)
        script = [ROOT / "scripts/image", "--with", "podman", "--base", BASE, "--tag", IMAGE]
        (made.folder / "package").mkdir()
        made.must(*script, "--package", made_package(made.folder / "package"), within=180)
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def facts(podman):
    return json.loads(podman.must("podman", "inspect", IMAGE))[0]


class Container:
    """One from the image, in the network of this machine; its budgets are in a folder of this machine."""

    def __init__(self, podman, folder, postgres):
        self.podman, self.folder = podman, folder
        self.address = Address("127.0.0.1", free_port())
        self.budgets = {
            "listen": [
                {"name": "app", "address": "127.0.0.1", "port": self.address.port},
                {"name": "local", "unix_socket_dir": "/run/pgbulkhead", "port": self.address.port},
            ],
            "databases": {"*": {"conninfo": f"host=127.0.0.1 port={postgres.port}"}},
            "workloads": [{"name": "default", "concurrency": 8}],
            "admin": {"http": f"127.0.0.1:{free_port()}"},
        }
        folder.chmod(0o755)
        self.write()
        self.name = podman.must(
            "podman", "run", "--detach", "--read-only", "--read-only-tmpfs=false", "--network=host", *LIMITS,
            "--cap-drop=all", "--security-opt=no-new-privileges", "--tmpfs=/run/pgbulkhead:mode=1777",
            # Its own timers need a systemd; the test asks instead.
            "--no-healthcheck", f"--volume={folder}:/etc/pgbulkhead:ro", IMAGE)  # fmt: skip

    def write(self):
        """As most editors do: a new file in the place of the old one."""
        new = self.folder / "new"
        new.write_text(json.dumps(self.budgets))
        new.chmod(0o644)
        new.rename(self.folder / "budgets.yaml")

    def inside(self, *command):
        return self.podman.run("podman", "exec", self.name, *command)

    def log(self):
        return self.podman.must("podman", "logs", self.name)

    def answer(self):
        session = Session(self.address, {"user": "alice", "database": DATABASE})
        value = session.value("select 'served'")
        session.terminate()
        return value


@pytest.fixture
def container(podman, postgres, tmp_path, facts):
    made = Container(podman, tmp_path, postgres)
    probe = facts["Healthcheck"]["Test"][1:]
    until(lambda: made.inside(*probe) == (0, "ok"), 10, "it says that it lives")
    yield made
    podman.must("podman", "rm", "--force", "--time=0", made.name)


def test_the_image_says_who_it_is_and_how_it_is_asked(facts):
    config = facts["Config"]
    assert config["User"] == "10001:10001", "a number: Kubernetes does not believe in names"
    assert config["Entrypoint"] + config["Cmd"] == ["pgbulkhead", "run", "-c", "/etc/pgbulkhead/budgets.yaml"]
    assert facts["Healthcheck"]["Test"][:3] == ["CMD", "pgbulkhead", "healthcheck"]
    assert set(config["ExposedPorts"]) == {"6432/tcp", "9433/tcp"}


def test_it_serves_as_nobody_on_a_root_that_it_cannot_write(container):
    assert container.answer() == "served"
    code, said = container.inside("cat", "/proc/1/status")
    status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert code == 0 and status["Name"] == "pgbulkhead"
    assert status["Uid"].split() == ["10001"] * 4 and status["CapEff"] == "0" * 16
    for place in ("/", "/tmp", "/etc/pgbulkhead", "/usr/bin", "/var/tmp"):
        code, said = container.inside("touch", f"{place}/written")
        assert code != 0 and "Read-only" in said, (place, said)
    assert container.inside("test", "-S", f"/run/pgbulkhead/.s.PGSQL.{container.address.port}")[0] == 0


def test_it_has_nothing_that_it_was_built_with(podman):
    _, said = podman.run("podman", "run", "--rm", "--network=host", *LIMITS, "--entrypoint=sh", IMAGE,
                         "-c", "for each in g++ cmake npm; do command -v $each; done; ls /package /var/lib/apt/lists")  # fmt: skip
    assert "No such file" in said and "bin" not in said, said


def test_edited_budgets_count_at_once(container):
    container.budgets["workloads"][0]["concurrency"] = 3
    container.write()
    until(lambda: "event=config_reloaded" in container.log(), what="the file is loaded")
    assert "key=workloads[default].concurrency before=8 after=3" in container.log()


def test_stopping_it_drains(podman, container):
    session = Session(container.address, {"user": "alice", "database": DATABASE})
    session.query("begin")
    assert session.value("select 1 + 0") == "1"
    stopping = subprocess.Popen(["podman", "stop", "--time=60", container.name], env=podman.env)
    # podman runs nothing more in a container that it stops.
    url = f"http://{container.budgets['admin']['http']}"
    until(lambda: run("healthcheck", "--url", url, "--ready").returncode == 1, what="it is not ready")
    assert session.value("select 2 + 0") == "2"
    session.query("commit")
    assert stopping.wait(30 * PATIENCE) == 0
    assert podman.must("podman", "inspect", "--format={{.State.ExitCode}}", container.name) == "0"


def test_without_budgets_it_says_what_it_wants(podman):
    code, said = podman.run("podman", "run", "--rm", "--read-only", "--network=host", *LIMITS, "--no-healthcheck", IMAGE)
    assert code == 2 and "/etc/pgbulkhead/budgets.yaml" in said and "PGB-CFG-001" in said, said
