"""What it costs the proxy to refuse a query, in parts of what it costs to forward one: shedding must be cheap, since
those who are refused come back.
"""

from statistics import median

from bed import Proxy, postgres_module, run_load
from process_cost import processor_time
from support.wire import Session

CLIENTS, ROUNDS = 8, 5
# A refused query may cost at most this part of a forwarded one.
GOAL = 0.6
# A text that is no driver's ping, which would go its own way.
SQL = "select 2"


def _proxy(server):
    """One workload that lets everybody in, and one whose only permit is taken."""
    changes = {
        "databases": {"*": {"conninfo": f"host={server.directory} port={server.port}", "pool_size": CLIENTS + 2}},
        "workloads": [
            {"name": "full", "match": {"application_name": "full"}, "concurrency": 1},
            {"name": "default", "concurrency": CLIENTS},
        ],
    }
    return Proxy(server, changes)


def _cost_us(proxy, application_name, seconds):
    """Processor time of the proxy for each query that was answered."""
    before = processor_time(proxy.process.pid).total
    run = run_load(proxy.unix_address, application_name=application_name, clients=CLIENTS, seconds=seconds,
                   sql=SQL, after_refusal="at-once")
    used = processor_time(proxy.process.pid).total - before
    answered = run["refused"] if application_name == "full" else run["ok"]
    other = run["ok"] if application_name == "full" else run["refused"]
    if answered == 0 or other > 0 or run["errors"] > 0:
        raise RuntimeError(f"not what was to be measured: {run}")
    return used / answered / 1000


def measure_refusals(server, seconds):
    """The median of the rounds, in each of which one is measured right after the other."""
    proxy = _proxy(server)
    holder = Session(proxy.address, {"user": "alice", "database": postgres_module.DATABASE, "application_name": "full"})
    try:
        holder.query("begin; select 2")
        rounds = []
        for _ in range(ROUNDS):
            forwarded, refused = (_cost_us(proxy, name, seconds) for name in ("forwarded", "full"))
            rounds.append({"forwarded_us": forwarded, "refused_us": refused, "ratio": refused / forwarded})
    finally:
        holder.terminate()
        proxy.stop()
        proxy.remove()
    return {name: median(each[name] for each in rounds) for name in rounds[0]} | {"goal": GOAL}
