"""What the demo, the benchmarks and the heavy tests share: a PostgreSQL that does not log each statement, the
programs of the build, and one run of pgb_load.
"""

import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/integration"))

from support import postgres as postgres_module  # noqa: E402
from support.proxy import Proxy, binary, merged  # noqa: E402

__all__ = [
    "ROOT", "Proxy", "QuietPostgres", "binary", "build_programs", "finish_load", "load_arguments", "merged",
    "postgres_module", "program", "run_load", "start_load",
]

QUIET = {
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_messages": "fatal",
    "shared_buffers": "128MB",
}


class QuietPostgres(postgres_module.Postgres):
    """`settings` are laid over those of the integration tests."""

    def __init__(self, **settings):
        self._settings = {**QUIET, **settings}
        super().__init__()

    def start(self):
        with mock.patch.dict(postgres_module.SETTINGS, self._settings):
            super().start()


def build_programs(*names):
    """Builds what is missing or old into build/release, unless the programs are said to be elsewhere."""
    if "PGBULKHEAD_PROGRAMS" in os.environ:
        return
    release = ROOT / "build/release"
    if not (release / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", release, "--target", *names], check=True, stdout=subprocess.DEVNULL)


def program(name):
    """A program of the build, in the folder PGBULKHEAD_PROGRAMS or in build/release."""
    return str(pathlib.Path(os.environ.get("PGBULKHEAD_PROGRAMS", ROOT / "build/release")) / name)


def load_arguments(where, **options):
    """The command line of pgb_load; `where` is an address of the kit: (host, port) or (socket path, None)."""
    host, port = where.host, where.port
    if port is None:
        path = pathlib.Path(host)
        host, port = str(path.parent), int(path.name.rsplit(".", 1)[1])
    options = {"host": host, "port": port, "user": "alice", "database": postgres_module.DATABASE, **options}
    arguments = [program("pgb_load"), "--json"]
    for name, value in options.items():
        if value is True:
            arguments.append("--" + name.replace("_", "-"))
        elif value is not None and value is not False:
            arguments += ["--" + name.replace("_", "-"), str(value)]
    return arguments


def start_load(where, **options):
    """Starts pgb_load; its JSON is read by `finish_load`."""
    return subprocess.Popen(load_arguments(where, **options), stdout=subprocess.PIPE, text=True)


def finish_load(process):
    out, _ = process.communicate()
    assert process.returncode == 0, f"pgb_load: exit code {process.returncode}"
    return json.loads(out)


def run_load(where, **options):
    return finish_load(start_load(where, **options))


def p99_of_naps(where, work_ms, seconds):
    """The 99th percentile, in ms, of eight clients that let PostgreSQL sleep for so long and pause; all of them succeed."""
    run = run_load(
        where, clients=8, think=5, seconds=seconds, warmup=0.3, sql=f"select pg_sleep({work_ms / 1000})"
    )
    assert run["ok"] > 0
    assert (run["errors"], run["refused"], run["connections_lost"]) == (0, 0, 0)
    return run["ok_latency"]["p99_ms"]
