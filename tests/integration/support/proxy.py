"""Starts pgbulkhead with a file of the test's own, looks at it from outside, and stops it."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

from . import secrets
from .metrics import Metrics
from .waiting import PATIENCE, free_port, until, until_none
from .wire import Address

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Stand-in: the tests run against PostgreSQL itself, which proves their expectations of PostgreSQL.
DIRECT = os.environ.get("PGBULKHEAD_TEST_DIRECT", "") not in ("", "0")

FD_SLACK = 24
RSS_SLACK_KIB = 64 * 1024


def binary():
    named = os.environ.get("PGBULKHEAD")
    return pathlib.Path(named) if named else ROOT / "build/release/pgbulkhead"


def run(*args, within=10.0, **options):
    """Runs the program to its end; stdout and stderr are texts."""
    return subprocess.run(
        [str(binary()), *map(str, args)],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=within * PATIENCE,
        **options,
    )


def merged(base, changes):
    """`base` with `changes` laid over it; dicts are merged, everything else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


class Proxy:
    """One process. `changes` is laid over a small file with one workload that nobody fills; `tls`
    and `door_auth` are those of its TCP door."""

    # What stands in front of the program, and behind `run`. The tests look into /proc, as the
    # leak sanitizer looks into the process.
    command = ()
    options = ("--allow-dumps",)

    def __init__(self, postgres, changes=None, start=True, tls=None, door_auth=None, port=None):
        self.postgres = postgres
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pgbulkhead-", dir="/tmp"))
        self.port, self.admin_port = port or free_port(), free_port()
        base = self._base()
        if tls:
            base["listen"][0]["tls"] = tls
        if door_auth:
            base["listen"][0]["auth"] = door_auth
        self.budgets = merged(base, changes or {})
        self.file = self.directory / "budgets.yaml"
        # JSON is YAML, but for characters that it would write as two escapes.
        self.file.write_text(json.dumps(self.budgets, indent=2, ensure_ascii=False))
        self._stderr = self.directory / "stderr"
        self.process = None
        self._at_start = None
        if start:
            self.start()

    def _base(self):
        return {
            "listen": [
                {"name": "app", "address": "127.0.0.1", "port": self.port},
                {"name": "local", "unix_socket_dir": str(self.directory), "port": self.port},
            ],
            "databases": {
                "*": {
                    "conninfo": f"host=127.0.0.1 port={self.postgres.port}",
                    "pool_size": 25,
                    "pool_wait": "5s",
                    "max_connecting": 4,
                }
            },
            "auth": {"method": "trust"},
            "workloads": [
                {"name": "default", "concurrency": 24, "queue": 500, "queue_wait": "10s"}
            ],
            "admin": {"http": f"127.0.0.1:{self.admin_port}"},
            # All that is ever written is looked at for secrets.
            "log": {"level": "debug"},
        }

    @property
    def address(self):
        return Address("127.0.0.1", self.port)

    @property
    def unix_address(self):
        return Address(f"{self.directory}/.s.PGSQL.{self.port}")

    # ---- life

    def start(self):
        assert binary().exists(), f"{binary()} is not built; PGBULKHEAD names another"
        with open(self._stderr, "ab") as log:
            self.process = self._launch(log)
        until(self._is_up, within=10, what="the proxy is ready")
        self._at_start = self.resources()

    def _launch(self, log):
        return subprocess.Popen(self._command_line(), stdout=log, stderr=log, cwd="/")

    def _command_line(self):
        return [*self.command, str(binary()), "run", *self.options, "-c", str(self.file)]

    def rewrite(self, budgets):
        """Ends the process and starts it with another file."""
        self.stop()
        self.budgets = budgets
        self.file.write_text(json.dumps(budgets, indent=2, ensure_ascii=False))
        self.start()

    def _is_up(self):
        assert self.process.poll() is None, f"exit {self.process.returncode}:\n{self.log()}"
        return self.get("/healthz")[0] == 200 and self.accepts()

    def accepts(self):
        """Whether the door takes connections."""
        try:
            self.address.connect().close()
            return True
        except OSError:
            return False

    def log(self):
        return self._stderr.read_text(errors="replace")

    def raw_log(self):
        return self._stderr.read_bytes() if self._stderr.exists() else b""

    def assert_log_is_clean(self):
        """No secret of any test, and nothing that a terminal would obey."""
        found = secrets.findings(self.raw_log())
        assert not found, "in the log: " + "; ".join(found)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, within=30.0):
        """The exit code; the process is killed when it does not end in time."""
        try:
            return self.process.wait(within * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running after {within} s:\n{self.log()[-3000:]}") from None

    def stop(self):
        """SIGTERM; it must end by itself with code 0."""
        if self.process is None or self.process.poll() is not None:
            return
        self.signal(signal.SIGTERM)
        code = self.wait()
        assert code == 0, f"exit code {code} after SIGTERM:\n{self.log()[-3000:]}"

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- eyes

    def get(self, path):
        """(status, text) of an HTTP GET; (0, reason) when nobody answers."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.admin_port}{path}", timeout=5
            ) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError as error:
            return 0, str(error)

    def metrics(self):
        status, text = self.get("/metrics")
        assert status == 200, (status, text)
        return Metrics(text)

    def waiting(self, workload="default"):
        return self.metrics().gauge("waiting", workload)

    def running(self, workload="default"):
        return self.metrics().gauge("running", workload)

    def resources(self):
        """(open descriptors, resident KiB)."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return (
            len(os.listdir(f"/proc/{self.process.pid}/fd")),
            int(re.search(r"VmRSS:\s+(\d+)", status).group(1)),
        )

    # ---- CLEAN

    def assert_clean(self, within=5.0):
        """Nothing is counted, nothing works in PostgreSQL, no lock is held, and the process is the
        same."""
        assert self.process.poll() is None, f"exit {self.process.returncode}:\n{self.log()[-3000:]}"
        until_none(lambda: self.metrics().held(), within, "running = waiting = pinned = 0")
        self.postgres.settle(within)
        until(
            lambda: self.resources()[0] <= self._at_start[0] + FD_SLACK + self._backends_max(),
            within,
            "descriptors are given back",
        )
        # The address sanitizer keeps what was freed.
        if "PGBULKHEAD_TEST_NO_RSS" not in os.environ:
            assert self.resources()[1] <= self._at_start[1] + RSS_SLACK_KIB

    def _backends_max(self):
        return sum(entry.get("pool_size", 25) for entry in self.budgets["databases"].values())


class StandIn:
    """PostgreSQL itself where a proxy is wanted: the same bytes must then give the same messages
    trivially."""

    def __init__(self, postgres):
        self.postgres = postgres
        self.address, self.unix_address = postgres.address, postgres.unix_address
        self.port = postgres.port

    def assert_clean(self, within=5.0):
        self.postgres.settle(within)

    def stop(self):
        """PostgreSQL goes on."""

    def remove(self):
        """PostgreSQL goes on."""

    def log(self):
        return ""

    def assert_log_is_clean(self):
        """PostgreSQL's own log is not ours."""
