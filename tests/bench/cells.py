"""What is measured: a workload, a number of clients and of backends, and a transport make a cell.

Rounds go through all cells in a new order each time, and within a cell the proxies take turns in a random order, so
that a drift of the machine meets both. The ratio is the median of the ratios of the rounds.
"""

import random
from statistics import median
from typing import NamedTuple

from pgbench_run import run_pgbench
from process_cost import SyscallCounter, processor_time

PROXIES = ("pgbouncer", "pgbulkhead")
# The goals for pgbulkhead's processor time in parts of PgBouncer's.
GOAL_QUEUED, GOAL_EACH = 0.85, 1.0


class Plan(NamedTuple):
    rounds: int
    seconds: int             # of a run that is measured
    syscall_seconds: int     # of the run in which system calls are counted
    scale: int               # of pgbench's tables
    workloads: tuple
    direct: bool


class Workload(NamedTuple):
    name: str
    protocol: str
    arguments: tuple
    blocks: bool = False     # transactions of several statements hold a backend between them


class Cell(NamedTuple):
    name: str
    workload: Workload
    clients: int
    backends: int
    transport: str


SELECT_SIMPLE = Workload("select-only simple", "simple", ("-S",))
SELECT_EXTENDED = Workload("select-only extended", "extended", ("-S",))
SELECT_PREPARED = Workload("select-only prepared", "prepared", ("-S",))
SELECT_ONE = Workload("select 1 simple", "simple", ("-f", "select_one.sql"))
TPCB_SIMPLE = Workload("tpcb simple", "simple", ("-b", "tpcb-like"), blocks=True)
TPCB_EXTENDED = Workload("tpcb extended", "extended", ("-b", "tpcb-like"), blocks=True)

QUICK = Plan(rounds=2, seconds=1, syscall_seconds=1, scale=1,
             workloads=(SELECT_SIMPLE, SELECT_EXTENDED, SELECT_PREPARED, SELECT_ONE), direct=False)
DEFAULT = Plan(rounds=5, seconds=2, syscall_seconds=1, scale=10,
               workloads=(SELECT_SIMPLE, SELECT_EXTENDED, SELECT_PREPARED, SELECT_ONE, TPCB_SIMPLE, TPCB_EXTENDED),
               direct=True)
SHAPES = ((8, 8), (32, 4))  # clients, backends


def cells(plan):
    for workload in plan.workloads:
        for clients, backends in SHAPES:
            # Of the long transactions one transport tells enough.
            for transport in ("unix",) if workload.blocks else ("unix", "tcp"):
                name = f"{workload.name}, {clients} clients on {backends}, {transport}"
                yield Cell(name, workload, clients, backends, transport)


def execute(plan, wanted, peers, progress):
    """{cell: {proxy: [measurement of each round]}}; the last round counts system calls."""
    measured = {cell: {} for cell in wanted}
    # The same order each time the program runs: what differs between two runs is the machine.
    order = random.Random(1)
    rounds = ["cost"] * plan.rounds + ["syscalls"]
    total, done = len(wanted) * len(rounds), 0
    for kind in rounds:
        for cell in order.sample(wanted, len(wanted)):
            progress(done, total, cell.name)
            names = list(PROXIES) + (["direct"] if plan.direct and kind == "cost" else [])
            for name in order.sample(names, len(names)):
                peer = peers.get(name, cell)
                measure = measure_cost if kind == "cost" else measure_syscalls
                seconds = plan.seconds if kind == "cost" else plan.syscall_seconds
                measured[cell].setdefault(name, []).append(measure(peer, cell, seconds))
            done += 1
    progress(total, total, "")
    return measured


def measure_cost(peer, cell, seconds):
    """Latencies and microseconds of processor time per transaction; the logins are part of it and do not matter."""
    before = processor_time(peer.process.pid) if peer.process else None
    result = run_pgbench(peer, cell.transport, cell.workload, cell.clients, seconds)
    figures = {"tps": result.tps, "p50_ms": result.p50_ms, "p99_ms": result.p99_ms}
    if peer.process:
        used = processor_time(peer.process.pid) - before
        for part in used._fields:
            figures[f"{part}_us"] = getattr(used, part) / 1000 / result.transactions
    return figures


def measure_syscalls(peer, cell, seconds):
    counter = SyscallCounter(peer.process.pid).start()
    result = run_pgbench(peer, cell.transport, cell.workload, cell.clients, seconds)
    return {"syscalls": counter.stop() / result.transactions}


def summarise(cell, results):
    """Medians over the rounds."""
    peers = {}
    for name, measurements in results.items():
        keys = {key for measurement in measurements for key in measurement}
        peers[name] = {key: median(m[key] for m in measurements if key in m) for key in sorted(keys)}
    mine, its = (costs(results[name]) for name in ("pgbulkhead", "pgbouncer"))
    ratios = [a / b for a, b in zip(mine, its)]
    return {
        "name": cell.name, "workload": cell.workload.name, "clients": cell.clients, "backends": cell.backends,
        "transport": cell.transport, "peers": peers,
        "ratio": median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
        "goal": GOAL_EACH if cell.clients == cell.backends else GOAL_QUEUED,
        "rounds": results,
    }


def costs(measurements):
    return [m["total_us"] for m in measurements if "total_us" in m]
