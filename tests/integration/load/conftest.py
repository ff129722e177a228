"""What the heavy tests share: a PostgreSQL that logs nothing, proxies in front of it, and the C++ programs."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support/load"))

from bed import QuietPostgres, build_programs, postgres_module, program  # noqa: E402
from support.waiting import PATIENCE  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "torture: random outcomes; runs under the sanitizers too")
    config.addinivalue_line("markers", "load: takes many seconds and most of the machine")


@pytest.fixture(scope="session")
def quiet_postgres():
    build_programs("pgb_load", "pgb_fire", "pgb_torture")
    server = QuietPostgres()
    yield server
    server.remove()


@pytest.fixture
def play(quiet_postgres):
    """`play("pgb_fire", proxy, seconds=5)` runs a program against the proxy's Unix socket and returns its JSON."""

    def run(name, proxy, **options):
        options = {
            "host": proxy.directory,
            "port": proxy.port,
            "user": "alice",
            "database": postgres_module.DATABASE,
            "stuck_after": 30 * PATIENCE,
            **options,
        }
        arguments = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
        done = subprocess.run([program(name), *arguments], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: exit code {done.returncode}: {done.stderr}"
        print(f"\n{name}: {done.stdout}", end="")
        return json.loads(done.stdout)

    return run
