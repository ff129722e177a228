"""Filling a workload on purpose: someone who holds a permit, others who wait, and what a refusal
must say."""

import re

from .messages import Q
from .waiting import PATIENCE, until

# How long one waits in the lane "hasty", in seconds: long enough that a slow machine gets others there meanwhile.
HASTY_WAIT = 0.3 * PATIENCE

# A lane of one permit and no queue, one of one permit and a queue that is longer than any test, and
# the rest.
WORKLOADS = [
    {"name": "tight", "match": {"application_name": "tight"}, "concurrency": 1},
    {
        "name": "patient",
        "match": {"application_name": "patient"},
        "concurrency": 1,
        "queue": 50,
        "queue_wait": "20s",
    },
    {
        "name": "hasty",
        "match": {"application_name": "hasty"},
        "concurrency": 1,
        "queue": 1,
        "queue_wait": f"{HASTY_WAIT * 1000:.0f}ms",
    },
    {
        "name": "pair",
        "match": {"application_name": "pair"},
        "concurrency": 2,
        "queue": 50,
        "queue_wait": "20s",
        "cancel_after_leave": "200ms",
    },
    {"name": "default", "concurrency": 16, "queue": 100, "queue_wait": "10s"},
]


class Holder:
    """A session that holds one permit of its workload by an open transaction."""

    def __init__(self, connect, proxy, workload=None):
        self.session = connect(proxy, **({"application_name": workload} if workload else {}))
        self.session.query("begin")
        self.session.query("select 1 + 0")

    def release(self):
        self.session.query("rollback")


def waiting(proxy, workload, count):
    """Waits until so many transactions of the workload wait for a permit."""
    until(lambda: proxy.waiting(workload) == count, what=f"{count} wait in {workload}")


def queued(proxy, connect, workload, data, count=1):
    """A session that has sent `data` and waits for a permit; `count` wait then."""
    session = connect(proxy, application_name=workload)
    session.send(data if isinstance(data, bytes) else Q(data))
    waiting(proxy, workload, count)
    return session


def enter(who):
    """A statement that leaves a trace of who ran it."""
    return f"insert into served (who) values ('{who}')"


def served(postgres):
    """Who was served, in the order in which PostgreSQL saw them."""
    return [who for (who,) in postgres.sql("select who from served order by place")]


def hints(fields):
    """HINT as a dict: it is a contract for programs."""
    return dict(pair.split("=", 1) for pair in fields["H"].split(" "))


def check_lost(fields):
    """The backend was lost inside a block: the whole transaction may be run again."""
    assert fields["C"] == "40001" and hints(fields)["reason"] == "backend_lost", fields


def check_refusal(msg, workload, reason, code="40001", detail=None, longest_ms=5000):
    """`msg` is an ErrorResponse as the contract spells it; returns retry_after_ms."""
    fields = msg.fields()
    assert msg.kind == "E" and list(fields) == list("SVCMDHFLR"), fields
    assert (fields["S"], fields["V"], fields["C"]) == ("ERROR", "ERROR", code)
    assert (fields["F"], fields["L"], fields["R"]) == ("pgbulkhead", "1", "admission_reject")
    retry = int(hints(fields)["retry_after_ms"])
    assert fields["H"] == f"retry_after_ms={retry} reason={reason} workload={workload}"
    assert fields["M"] == (
        f'admission rejected for workload "{workload}" ({reason}); retry after {retry} ms'
    )
    assert re.fullmatch(
        r"running=\d+ limit=\d+ waiting=\d+ queue=\d+ waited_ms=\d+", fields["D"]
    ), fields["D"]
    assert detail is None or fields["D"] == detail
    assert 1 <= retry <= longest_ms
    return retry
