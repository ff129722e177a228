"""`mode`: shadow tells what enforcing would have refused and refuses nothing; off is as if there were no
budget, byte for byte."""

import re

import pytest

from support.lanes import Holder, check_refusal
from support.messages import B, C, CopyData, CopyDone, D, E, H, P, Q, S, X, batch, query_batch
from support.relay import Relay
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.needs_proxy


def workload(mode, **changes):
    return {"name": "default", "concurrency": 1, "mode": mode, **changes}


def gauge(proxy, what):
    return proxy.metrics().gauge(what, "default")


def would_reject(proxy, reason):
    return proxy.metrics().sum(
        "pgbulkhead_workload_would_reject_total", workload="default", reason=reason
    )


@pytest.mark.parametrize("mode", ["enforce", "shadow", "off"])
def test_a_workload_is_in_one_mode(postgres, new_proxy, mode):
    proxy = new_proxy(postgres, {"workloads": [workload(mode)]})
    for other in ("enforce", "shadow", "off"):
        shown = proxy.metrics().sum("pgbulkhead_workload_mode", workload="default", mode=other)
        assert shown == (1 if other == mode else 0)


def test_shadow_admits_everybody_and_counts_what_it_would_have_refused(
    postgres, new_proxy, connect
):
    proxy = new_proxy(postgres, {"workloads": [workload("shadow")]})
    holders = [Holder(connect, proxy) for _ in range(3)]
    assert (gauge(proxy, "running"), gauge(proxy, "shadow_running")) == (3, 1)
    assert connect(proxy).value("select 'let through'") == "let through"
    assert would_reject(proxy, "queue_full") == 3
    assert proxy.metrics().rejected("default", "queue_full") == 0
    until(lambda: "would_reject" in proxy.log(), what="it is logged")
    for holder in holders:
        holder.release()
    until(lambda: gauge(proxy, "shadow_running") == 0, what="the imaginary permit is back")


def test_shadow_waits_where_enforcing_would(postgres, new_proxy, connect):
    queue = {"queue": 5, "queue_wait": "100ms"}
    proxy = new_proxy(postgres, {"workloads": [workload("shadow", **queue)]})
    holders = [Holder(connect, proxy) for _ in range(3)]
    until(lambda: would_reject(proxy, "queue_timeout") == 2, what="the imaginary waits are over")
    assert (gauge(proxy, "waiting"), gauge(proxy, "peak_waiting")) == (0, 0)
    for holder in holders:
        holder.release()


def test_off_has_no_budget_and_counts_nothing_it_would_have_done(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"workloads": [workload("off")]})
    holders = [Holder(connect, proxy) for _ in range(3)]
    assert gauge(proxy, "running") == 3
    assert (gauge(proxy, "shadow_running"), would_reject(proxy, "queue_full")) == (0, 0)
    for holder in holders:
        holder.release()


# ---- off, byte for byte

# What a client and PostgreSQL say when nothing is rewritten, and what the proxy says itself.
SAID = [
    Q("select 1 + 0"),
    Q("select 1; select 2"),
    Q(""),
    Q("select 1/0"),
    Q("begin") + Q("insert into t values (1)") + Q("savepoint s") + Q("rollback"),
    Q("begin") + Q("select 1/0") + Q("select 1 + 0") + Q("commit"),
    Q("set application_name = 'other'") + Q("show application_name") + Q("reset application_name"),
    query_batch("select $1::text", ["x"]),
    P("select 2", "named") + D("S", "named") + S,
    B((), "named") + E() + S,
    C("S", "named") + S,
    batch("begin") + batch("insert into t values (2)") + batch("rollback") + S,
    P("select nonsense") + B() + E() + S,
    P("select 3") + H + B() + E() + S,
    Q("copy t from stdin") + CopyData("3\tc\n") + CopyDone,
    Q("copy t to stdout"),
    Q("delete from t"),
    Q("select pg_advisory_lock(1)") + Q("select pg_advisory_unlock(1)"),
]


# What is random or measured: the key, a time to come back and how long one waited.
VARIES = re.compile(rb"(retry_after_ms=|retry after |waited_ms=)\d+")


def told(messages):
    return [(m.kind, b"" if m.kind == "K" else VARIES.sub(rb"\1", m.body)) for m in messages]


def record(proxy, relay, connect):
    """What a session hears, what one hears for which there is no backend, and what PostgreSQL gets."""
    session, other = connect(proxy), connect(proxy)
    heard = [told(session.greeting)]
    for data in SAID:
        session.send(data)
        heard.append(told(session.until("Z", ready_count(data))))
    session.query("begin")
    session.query("select 1 + 0")
    refused = other.ask(Q("select 1 + 0"))
    check_refusal(refused[0], "default", "pool_timeout")
    heard.append(told(refused))
    session.query("commit")
    heard.append(told(other.ask(Q("select 2"))))
    session.terminate()
    other.terminate()
    proxy.stop()
    until(lambda: relay.clear_bytes().endswith(X), what="the last word to PostgreSQL has passed")
    return heard, relay.clear_bytes()


def ready_count(data):
    """Of Query and Sync messages: each is answered by one ReadyForQuery."""
    count, at = 0, 0
    while at < len(data):
        count += data[at : at + 1] in (b"Q", b"S")
        at += 1 + int.from_bytes(data[at + 1 : at + 5], "big")
    return count


def test_off_is_byte_for_byte_a_budget_of_all_clients(postgres, new_proxy, connect):
    recorded = []
    for budget in (
        {"concurrency": 3, "mode": "off"},
        {"concurrency": 50, "mode": "enforce"},
    ):
        with Relay(postgres.address) as relay:
            proxy = new_proxy(
                postgres,
                {
                    "databases": {
                        "*": {
                            "conninfo": f"host=127.0.0.1 port={relay.address.port}",
                            "pool_size": 1,
                            "pool_wait": f"{round(500 * PATIENCE)}ms",
                        }
                    },
                    "limits": {"max_clients": 50},
                    "workloads": [
                        {"name": "reports", "match": {"user": "nobody"}, **budget},
                        {"name": "default", **budget},
                    ],
                },
            )
            recorded.append(record(proxy, relay, connect))
        postgres.empty_tables()
    off, unlimited = recorded
    for mine, theirs in zip(off[0], unlimited[0]):
        assert mine == theirs
    assert len(off[0]) == len(unlimited[0]) == len(SAID) + 3
    assert off[1] == unlimited[1]
    assert len(off[1]) > sum(map(len, SAID)) / 2
