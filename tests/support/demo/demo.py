"""The demo behind scripts/demo: the smallest proof, then an overload with and without the proxy.

Everything private to it (PostgreSQL with its data directory, the proxy, their ports) is gone at the end, also when it
is interrupted.
"""

import argparse
import contextlib
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "load"))

from bed import Proxy, QuietPostgres, build_programs, postgres_module, run_load  # noqa: E402
from psql_session import PsqlSession  # noqa: E402
from result_table import render  # noqa: E402
from support.waiting import until  # noqa: E402

CLIENTS = 200
SECONDS = 12
USER, DATABASE = "alice", postgres_module.DATABASE
BACKENDS = f"select count(*) from pg_stat_activity where usename = '{USER}' and backend_type = 'client backend'"
SEATS = """
create table seats (id int primary key, sold bigint not null default 0) with (fillfactor = 20);
insert into seats select number, 0 from generate_series(1, 32) as number;
grant all on seats to public;
"""

STYLED = sys.stdout.isatty()


def say(*lines):
    print(*lines, sep="\n", flush=True)


def heading(text):
    say("", f"\x1b[1m{text}\x1b[0m" if STYLED else text)


def budgets(server, concurrency, queue, queue_wait):
    """The budgets file. One backend of the pool is left for whoever needs one of its own."""
    return {
        "databases": {"*": {
            "conninfo": f"host={server.directory} port={server.port}",
            "pool_size": concurrency + 1,
        }},
        "workloads": [{"name": "default", "concurrency": concurrency, "queue": queue, "queue_wait": queue_wait}],
    }


def smallest_proof(server):
    """One permit, no queue: while one transaction holds it, a second is refused on a connection that lives on."""
    proxy = Proxy(server, budgets(server, concurrency=1, queue=0, queue_wait=0))
    try:
        with contextlib.ExitStack() as sessions:
            first, second = (PsqlSession("127.0.0.1", proxy.port, USER, DATABASE) for _ in range(2))
            sessions.callback(first.close)
            sessions.callback(second.close)
            held = first.run("begin; select 1;")
            expect(held == (["1"], "00000"), f"the first transaction did not get the permit: {held}")
            rows, sqlstate = second.run("select 42;")
            expect(sqlstate == "40001", f"the second transaction was not refused: {rows} {sqlstate}")
            say("overload=rejected")
            first.run("commit;")
            rows, sqlstate = second.run("select 42;")
            expect(sqlstate == "00000", f"the permit did not come back: {sqlstate}")
            say(f"query={rows[0]}")
        until(lambda: available(proxy) == 1, what="the permit is free again")
        say(f"available={available(proxy)}")
        proxy.stop()
    finally:
        proxy.remove()


def available(proxy):
    """Permits that nobody holds, as /metrics tells."""
    metrics = proxy.metrics()
    return int(metrics.gauge("concurrency_limit", "default") - metrics.gauge("running", "default"))


def expect(condition, words):
    if not condition:
        raise SystemExit(f"demo: {words}")


def overload(server, where, label):
    server.sql("update seats set sold = 0")
    return run_load(
        where, label=label, clients=CLIENTS, seconds=SECONDS, script=HERE / "seats.script", progress=True,
        after_refusal="obey", reconnect_after=250, default_retry_after=250, user=USER, database=DATABASE,
        sample_sql=BACKENDS, sample_host=server.directory, sample_port=server.port, sample_every=50,
    )


def show_overload(server, proxy):
    heading(f"Overload: {CLIENTS} clients want the same 32 seats, {SECONDS} s each way")
    say("  Each transaction computes for some milliseconds and takes a seat. Those that lose the race for a",
        "  seat have worked in vain and try again. Refused clients wait as they are told, else 250 ms.", "")
    direct = overload(server, server.unix_address, "straight to PostgreSQL (max_connections 100)")
    say("")
    through = overload(server, proxy.unix_address, "through pgbulkhead (B=8, Q=16, queue_wait 250 ms)")
    say("", *render([direct, through], ["straight", "through pgbulkhead"], STYLED), "")


def keep(server, proxy):
    say("Still running, until Ctrl-C:",
        f"  psql -h 127.0.0.1 -p {proxy.port} -U {USER} {DATABASE}        through pgbulkhead",
        f"  psql -h 127.0.0.1 -p {server.port} -U {USER} {DATABASE}        straight to PostgreSQL",
        f"  http://127.0.0.1:{proxy.admin_port}/metrics",
        f"  budgets: {proxy.file}")
    signal.pause()


def run(arguments):
    build_programs("pgb_load")
    with contextlib.ExitStack() as bed:
        say("Starting a private PostgreSQL ...")
        server = QuietPostgres(max_connections="100", superuser_reserved_connections="3")
        bed.callback(server.remove)
        server.sql(SEATS)
        heading("The smallest proof: one permit, no queue")
        smallest_proof(server)
        proxy = Proxy(server, budgets(server, concurrency=8, queue=16, queue_wait="250ms"))
        bed.callback(proxy.remove)
        show_overload(server, proxy)
        if arguments.keep:
            keep(server, proxy)
        proxy.stop()


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__.split("\n")[0])
    parser.add_argument("--keep", action="store_true", help="leave PostgreSQL and the proxy running until Ctrl-C")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(arguments)
    except KeyboardInterrupt:
        say("", "Ended and cleaned up.")
        sys.exit(0 if arguments.keep else 130)


if __name__ == "__main__":
    main()
