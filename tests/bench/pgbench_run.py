"""One run of pgbench: how many transactions, how fast, and the latencies of each."""

import pathlib
import re
import subprocess
import tempfile
from typing import NamedTuple

from peers import DATABASE, USER

SELECT_ONE = "select 1 + 0;\n"


class PgbenchResult(NamedTuple):
    transactions: int
    tps: float
    p50_ms: float
    p99_ms: float


def run_pgbench(peer, transport, workload, clients, seconds):
    host = peer.directory if transport == "unix" else "127.0.0.1"
    with tempfile.TemporaryDirectory(prefix="pgbulkhead-bench-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "select_one.sql").write_text(SELECT_ONE)
        command = ["pgbench", "-n", "-h", str(host), "-p", str(peer.port), "-U", USER, "-c", str(clients),
                   "-j", str(threads(workload, clients)), "-T", str(seconds), "-M", workload.protocol,
                   *workload.arguments, "-l", f"--log-prefix={folder}/log", DATABASE]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, start_new_session=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-2000:]}"
        latencies = sorted(latency for log in folder.glob("log*") for latency in read_log(log))
    count = int(re.search(r"actually processed: (\d+)", done.stdout)[1])
    tps = float(re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)[1])
    return PgbenchResult(count, tps, quantile(latencies, 0.5) / 1000, quantile(latencies, 0.99) / 1000)


def threads(workload, clients):
    """A thread of pgbench that waits for a backend must not keep another of its clients from giving one back."""
    return clients if workload.blocks else max(2, clients // 4)


def read_log(path):
    """Microseconds, the third column."""
    with open(path) as log:
        return [int(line.split(" ", 3)[2]) for line in log]


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else 0.0
