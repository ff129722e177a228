"""The lock sampler: an orphan is free when PostgreSQL no longer has its process; its own trouble costs
nobody anything."""

import os
import signal

import pytest

from support.holders import events, holders, make_watcher, sampler
from support.messages import Q
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

WORKS = "pgbulkhead_database_lock_sampler_up"
FAILURES = "pgbulkhead_database_lock_sampler_failures_total"
# Longer than any test: only the sampler can free an orphan.
HELD = {
    "name": "default",
    "concurrency": 1,
    "queue": 1,
    "queue_wait": "60s",
    "cancel_after_leave": "0",
    "orphan_hold": "1h",
}


def make_proxy(make, server, rules):
    return make(
        server,
        {
            "databases": {
                "*": {
                    "pool_size": 2,
                    "cancel_timeout": "300ms",
                    "reset_timeout": "300ms",
                    "lock_sampler": rules,
                }
            },
            "workloads": [HELD],
        },
    )


def make_orphan(server, proxy, connect):
    """Stops the process behind a session that then goes; returns its process id."""
    session = connect(proxy)
    pid = int(session.value("select pg_backend_pid()"))
    session.send(Q("select pg_sleep(600)"))
    until(lambda: server.running("pg_sleep"), what="the statement runs")
    until(lambda: proxy.metrics().sum(WORKS) == 1, what="the sampler works")
    looks = 2
    log = server.log_end()
    until(
        lambda: server.log.read_bytes()[log:].count(b"pg_postmaster_start_time") > looks,
        what="it has looked since",
    )
    os.kill(pid, signal.SIGSTOP)
    session.reset_connection()
    until(lambda: proxy.metrics().gauge("orphaned") == 1, what="the permit is an orphan's")
    return pid


def test_an_orphan_whose_process_has_ended_is_free(own_postgres, new_proxy, connect):
    make_watcher(own_postgres)
    proxy = make_proxy(new_proxy, own_postgres, sampler(own_postgres))
    pid = make_orphan(own_postgres, proxy, connect)
    try:
        waiter = connect(proxy)
        waiter.send(Q("select 7"))
        assert holders(proxy, state="orphaned")[0]["pid"] == pid
        # While PostgreSQL has the process, stopped as it is, its permit stays taken.
        assert waiter.quiet(0.5) is None
    finally:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
    assert waiter.until("Z")[1].kind == "D"
    until(lambda: proxy.metrics().gauge("orphaned") == 0, what="there is no orphan")
    assert f"pid={pid}" in events(proxy, "orphan_gone")[0]
    assert not events(proxy, "orphan_released")
    assert holders(proxy) == []


def test_an_orphan_whose_process_was_killed_is_free(own_postgres, new_proxy, connect):
    """PostgreSQL ends all its other processes, too, the sampler's among them, and recovers."""
    make_watcher(own_postgres)
    proxy = make_proxy(new_proxy, own_postgres, sampler(own_postgres))
    pid = make_orphan(own_postgres, proxy, connect)
    os.kill(pid, signal.SIGKILL)
    own_postgres.wait_until_up()
    until(lambda: proxy.metrics().gauge("orphaned") == 0, 20, what="its permit is free")
    assert events(proxy, "orphan_gone")
    assert connect(proxy).value("select 7") == "7"


@pytest.mark.parametrize(
    "trouble",
    ["nobody listens", "no such user", "no pg_monitor"],
)
def test_a_sampler_in_trouble_costs_nobody_anything(postgres, new_proxy, connect, trouble):
    rules = {
        "nobody listens": {"conninfo": "host=127.0.0.1 port=1 user=watcher", "interval": "50ms"},
        "no such user": sampler(postgres, user="nobody_at_all"),
        "no pg_monitor": sampler(postgres, user="bob"),
    }[trouble]
    proxy = make_proxy(new_proxy, postgres, rules)
    session = connect(proxy)
    session.query("begin")
    session.query("select 1 + 0")
    until(lambda: proxy.metrics().sum(FAILURES) >= 3, 20, what="it has tried more than once")
    session.query("commit")
    assert session.value("select 7") == "7"
    assert proxy.metrics().sum(WORKS) == 0
    assert len(events(proxy, "lock_sampler_failed")) == 1


def test_a_sampler_that_was_cut_off_comes_back(own_postgres, new_proxy, connect):
    make_watcher(own_postgres)
    proxy = make_proxy(new_proxy, own_postgres, sampler(own_postgres))
    session = connect(proxy)
    session.query("begin")
    session.query("select 1 + 0")
    until(lambda: proxy.metrics().sum(WORKS) == 1, what="it works")
    own_postgres.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'watcher'"
    )
    until(lambda: events(proxy, "lock_sampler_works"), 20, what="it works again")
    assert len(events(proxy, "lock_sampler_failed")) == 1
    session.query("commit")


def test_a_sampler_that_gets_no_answer_is_given_up(own_postgres, new_proxy, connect):
    make_watcher(own_postgres)
    proxy = make_proxy(new_proxy, own_postgres, sampler(own_postgres))
    session = connect(proxy)
    session.query("begin")
    session.query("select 1 + 0")
    until(lambda: proxy.metrics().sum(WORKS) == 1, what="it works")
    (row,) = own_postgres.sql("select pid from pg_stat_activity where usename = 'watcher'")
    pid = int(row[0])
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: events(proxy, "lock_sampler_failed"), 20, what="its silence is noticed")
        assert session.value("select 7") == "7"
        until(lambda: events(proxy, "lock_sampler_works"), 20, what="another one works")
    finally:
        os.kill(pid, signal.SIGCONT)
    session.query("commit")
