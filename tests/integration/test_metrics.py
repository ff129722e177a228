"""/metrics: strictly valid in both formats whatever happens and whatever is named how; true; and never going back."""

import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import time

import pytest

from support.exposition import PROMETHEUS, check_strictly, only_growing, scrape
from support.lanes import Holder, check_refusal
from support.messages import Q
from support.postgres import DATABASE
from support.proxy import run
from support.reloads import changed, hang_up, put, reload
from support.wire import Closed, ServerError
from support.workers import Worker, at_work

pytestmark = pytest.mark.needs_proxy

RELOADS = 100

# What `databases` may be called: everything without control characters, up to 63 bytes.
HOSTILE_DATABASES = [
    'quo"te',
    "back\\slash",
    'end\\"',
    "a} 1",
    "# EOF",
    'x",workload="y',
    "\N{ELEPHANT}" * 15,
    "{}[]=,~ ",
    "n" * 63,
]
# What a client may call itself and its database, though none of it is an entry's name.
HOSTILE_CLIENTS = [*HOSTILE_DATABASES, "new\nline 1", "# HELP x\n# EOF\n", "long" * 2500]


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    conninfo = f"host=127.0.0.1 port={postgres.port}"
    known = {"conninfo": f"{conninfo} dbname={DATABASE}", "pool_size": 4}
    return module_proxy(
        postgres,
        {
            "databases": {
                "*": {"conninfo": conninfo, "pool_size": 10},
                **dict.fromkeys(HOSTILE_DATABASES, known),
            },
            "workloads": [
                {"name": "tight", "match": {"application_name": "*EOF*"}, "concurrency": 1},
                {"name": "default", "concurrency": 16, "queue": 100, "queue_wait": "10s"},
            ],
        },
    )


class Client(Worker):
    """Single statements and blocks; is refused now and then, which is no error."""

    def turn(self):
        try:
            self.session.query("select 1 + 0", within=60)
            self.session.query("begin; select 2 + 0; commit", within=60)
        except ServerError as error:
            assert error.fields["C"] == "40001", error
            # A refused block has failed and is still open.
            self.session.query("rollback", within=60)


def test_both_formats_are_strict_in_an_overload_with_hostile_names(proxy, connect):
    holder = Holder(connect, proxy, "# EOF")
    before = check_strictly(proxy)
    refused = connect(proxy, application_name="# EOF")
    with at_work([Client(proxy.unix_address, "# EOF") for _ in range(4)]):
        for i, name in enumerate(HOSTILE_CLIENTS):
            check_refusal(refused.ask(Q(f"select {i} + 0"))[0], "tight", "queue_full")
            for user, database in itertools.product((name, "alice"), (name, DATABASE)):
                # Most of these users and databases are nobody's and none.
                with contextlib.suppress(ServerError, Closed, OSError):
                    session = connect(proxy, user=user, database=database, application_name=name)
                    session.query("select 1 + 0")
            check_strictly(proxy)
    after = check_strictly(proxy)
    # Names of clients made none, and every entry is told under the name that the file gives it.
    assert after.keys() == before.keys()
    for name in HOSTILE_DATABASES:
        assert after["pgbulkhead_database_connects_total", ("database", name)] >= 1, name
    full = ("pgbulkhead_workload_rejected_total", ("reason", "queue_full"), ("workload", "tight"))
    assert after[full] >= before[full] + len(HOSTILE_CLIENTS)
    holder.release()


@pytest.mark.parametrize(
    "where, name",
    [
        *(("workloads", name) for name in ('a"b', "a\\b", "a\nb", "\N{ELEPHANT}", "x" * 10_000)),
        *(("databases", name) for name in ("a\nb", "a\0b", "\x7f", "x" * 64, "x" * 10_000)),
    ],
    ids=ascii,
)
def test_names_that_would_break_what_carries_them_are_refused_by_check(unstarted, where, name):
    proxy = unstarted()
    if where == "workloads":
        proxy.budgets["workloads"].insert(0, {"name": name, "concurrency": 1})
    else:
        proxy.budgets["databases"][name] = {}
    proxy.file.write_text(json.dumps(proxy.budgets))
    done = run("check", "-c", proxy.file)
    assert done.returncode == 2
    assert re.search(r": PGB-CFG-0(32|16|14|02): ", done.stderr), done.stderr[:300]


def test_a_scraper_gets_the_format_that_it_asks_for(proxy):
    assert scrape(proxy, PROMETHEUS)[0].startswith("application/openmetrics-text; version=1.0.0")
    for accept in (None, "*/*", "text/plain;version=0.0.4", "application/openmetrics-text;q=0"):
        assert scrape(proxy, accept)[0].startswith("text/plain; version=0.0.4"), accept
    assert scrape(proxy, PROMETHEUS)[1].endswith("\n# EOF\n")


def test_the_process_is_told_as_the_kernel_tells_it(proxy):
    found = {name: value for (name, *_), value in check_strictly(proxy).items()}
    folder = pathlib.Path(f"/proc/{proxy.process.pid}")
    descriptors, resident_kib = proxy.resources()
    # A scrape has a connection, and its thread a few pages.
    assert abs(found["process_open_fds"] - descriptors) <= 3
    assert abs(found["process_resident_memory_bytes"] / 1024 - resident_kib) < 8192
    assert found["process_virtual_memory_bytes"] > found["process_resident_memory_bytes"]
    limit = re.search(r"Max open files\s+(\d+)", (folder / "limits").read_text()).group(1)
    assert found["process_max_fds"] == int(limit)
    ticks = os.sysconf("SC_CLK_TCK")
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    assert abs(found["process_cpu_seconds_total"] - (int(stat[11]) + int(stat[12])) / ticks) < 1
    started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + int(stat[19]) / ticks
    assert abs(found["process_start_time_seconds"] - started) < 0.5
    again = check_strictly(proxy)
    assert again[("process_start_time_seconds",)] == found["process_start_time_seconds"]
    assert again[("process_cpu_seconds_total",)] >= found["process_cpu_seconds_total"]


# ---- counters never go back


def lane(name, **changes):
    return {
        "name": name,
        "match": {"application_name": name},
        "concurrency": 2,
        "queue": 2,
        "queue_wait": "20ms",
        **changes,
    }


def files(dice):
    """The workloads of one file after the other: there and not there, in any order, mode and size."""
    for turn in itertools.count():
        mode = dice.choice(["enforce", "shadow", "off"])
        lanes = [lane("reports", concurrency=dice.randint(1, 4)), lane("batch", mode=mode)]
        dice.shuffle(lanes)
        # Removed, and added again.
        del lanes[: (0, 1, 2, 1)[turn % 4]]
        yield [*lanes, {"name": "default", "concurrency": 6, "queue": 40, "queue_wait": "2s"}]


def assert_none_fell(before, after, where):
    fallen = {
        key: (value, after.get(key))
        for key, value in before.items()
        if key not in after or after[key] < value
    }
    assert not fallen, f"{where}: {fallen}"


def test_counters_never_fall_over_100_reloads(new_proxy, postgres):
    """Workloads go and come back, pools change their size, files are broken."""
    sampler = {"conninfo": f"host=127.0.0.1 port={postgres.port} user=postgres", "interval": "20ms"}
    entry = {"lock_sampler": sampler, "pool_size": 8}
    dice = random.Random(207)
    every = files(dice)
    proxy = new_proxy(postgres, {"databases": {"*": entry}, "workloads": next(every)})
    names = ("reports", "reports", "reports", "batch", "batch", "other")
    with at_work([Client(proxy.unix_address, name) for name in names for _ in range(2)]):
        first = seen = only_growing(proxy)
        for turn in range(RELOADS):
            if turn % 10 == 9:
                text = changed(proxy, {})
                put(proxy, text[: len(text) // 2])
                hang_up(proxy)
                put(proxy, text)
            pool_size = dice.randint(3, 8)
            reload(
                proxy, {"workloads": next(every), "databases": {"*": {"pool_size": pool_size}}}
            )
            now = only_growing(proxy)
            assert_none_fell(seen, now, f"after reload {turn}")
            seen = now
    last = only_growing(proxy)
    assert_none_fell(seen, last, "at the end")
    for name in ("reports", "batch", "default"):
        admitted = ("pgbulkhead_workload_admitted_total", ("workload", name))
        assert last[admitted] > first[admitted] + RELOADS, name
    assert last["pgbulkhead_config_reloads_total", ("result", "success")] >= RELOADS
