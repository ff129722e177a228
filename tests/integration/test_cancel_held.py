"""The middle of a cancel, made long by a relay that holds the request back: what may happen then.
`PGBULKHEAD_TEST_FULL=1`: 200 times each."""

import os
import random
import signal

import pytest

from support.certificates import Authority
from support.messages import Q, cancel_request, codes
from support.postgres import DATABASE
from support.relay import Relay
from support.waiting import until
from support.wire import LEAVING, Session

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
TIMES = 200 if FULL else 10
STOPS = 200 if FULL else 4
FAILED = "pgbulkhead_backend_cancels_failed_total"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca")).issue("localhost")


@pytest.fixture(params=["plain", "tls"])
def relay(request, postgres, certificate):
    with Relay(postgres.address, certificate if request.param == "tls" else None) as relay:
        relay.sslmode = "require" if request.param == "tls" else "disable"
        yield relay


def start(new_proxy, postgres, relay, **changes):
    conninfo = f"host=127.0.0.1 port={relay.address.port} sslmode={relay.sslmode}"
    entry = {"conninfo": conninfo, "pool_size": 1, "pool_wait": "20s", "cancel_timeout": "20s"}
    entry.update(changes.pop("entry", {}))
    return new_proxy(postgres, {"databases": {"*": entry}, **changes})


class Middle:
    """A statement runs, and its cancel is held back by the relay."""

    def __init__(self, proxy, postgres, relay, seconds=30):
        relay.hold()
        self.session = Session(proxy.address, {"user": "alice", "database": DATABASE})
        self.session.send(Q(f"select pg_sleep({seconds}) /* middle */"))
        until(lambda: postgres.running("middle"), what="the statement runs")
        self.canceller = Session(proxy.address)
        self.canceller.send(cancel_request(self.session.pid, self.session.key))
        relay.wait_held()

    def close(self):
        self.canceller.close()
        self.session.close()


def check_usable(proxy, may_be_lost=False):
    """`may_be_lost`: nobody may have heard yet of a backend's end, so that a statement is lost."""
    session = Session(proxy.address, {"user": "alice", "database": DATABASE})
    got = codes(session.ask(Q("select 42"), within=20))
    if may_be_lost and got == ["08007", "Z"]:
        got = codes(session.ask(Q("select 42"), within=20))
    assert got == ["T", "D", "C", "Z"]
    session.terminate()


def test_the_sender_waits_as_long_as_the_cancel_is_under_way(postgres, new_proxy, relay):
    proxy = start(new_proxy, postgres, relay)
    middle = Middle(proxy, postgres, relay)
    assert middle.canceller.quiet(0.2) is None and not middle.canceller.eof
    assert middle.session.quiet(0) is None
    relay.release()
    assert middle.canceller.raw(1) == b""
    assert codes(middle.session.until("Z"))[-2:] == ["57014", "Z"]
    assert [middle.session.value(f"select {i}") for i in (1, 2)] == ["1", "2"]
    middle.close()
    proxy.assert_clean()


def test_the_backend_is_lent_to_nobody_until_the_cancel_has_ended(postgres, new_proxy, relay):
    proxy = start(new_proxy, postgres, relay)
    middle = Middle(proxy, postgres, relay, seconds=1)
    assert codes(middle.session.until("Z"))[-1] == "Z"
    other = Session(proxy.address, {"user": "alice", "database": DATABASE})
    other.send(Q("select pg_sleep(0.05) /* other */"))
    assert other.quiet(0.3) is None and postgres.running("other") == 0
    relay.release()
    assert codes(other.until("Z")) == ["T", "D", "C", "Z"]
    other.terminate()
    middle.close()
    proxy.assert_clean()


def test_a_server_that_holds_a_cancel_for_ever_costs_one_backend(postgres, new_proxy, relay):
    """The signal may still come, so that backend is lent no more."""
    proxy = start(new_proxy, postgres, relay, entry={"cancel_timeout": "300ms"})
    middle = Middle(proxy, postgres, relay, seconds=1)
    assert middle.canceller.raw(1) == b""
    assert proxy.metrics().sum(FAILED) == 1 and "cancel_failed" in proxy.log()
    assert codes(middle.session.until("Z")) == ["T", "D", "C", "Z"]
    check_usable(proxy)
    relay.release()
    check_usable(proxy)
    middle.close()
    proxy.assert_clean()


def test_a_backend_that_dies_in_the_middle_of_a_cancel_harms_nobody(postgres, new_proxy, relay):
    proxy = start(new_proxy, postgres, relay)
    rng = random.Random(3)
    for _ in range(TIMES):
        middle = Middle(proxy, postgres, relay)
        if rng.random() < 0.5:
            relay.release()
        assert postgres.end_backends("middle") <= 1
        got = middle.session.until("Z")
        assert codes(got)[-1] == "Z" and got[-2].kind == "E"
        # The cancel of a backend that is gone is waited for by nobody.
        assert middle.canceller.raw(1) == b""
        relay.release()
        middle.close()
        check_usable(proxy, may_be_lost=True)
    proxy.assert_clean()


def test_a_client_that_goes_in_the_middle_of_its_cancel_harms_nobody(postgres, new_proxy, relay):
    workload = {"name": "default", "concurrency": 1, "queue": 9, "queue_wait": "20s"}
    workload["cancel_after_leave"] = "0s"
    proxy = start(new_proxy, postgres, relay, workloads=[workload])
    rng = random.Random(4)
    for _ in range(TIMES):
        middle = Middle(proxy, postgres, relay)
        if rng.random() < 0.5:
            middle.canceller.close()
        rng.choice(list(LEAVING.values()))(middle.session)
        relay.release()
        check_usable(proxy)
        middle.close()
    until(lambda: relay.held == 0, what="no cancel is held back")
    proxy.assert_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_the_end_of_the_proxy_in_the_middle_of_a_cancel_is_an_orderly_one(
    postgres, new_proxy, relay, number
):
    proxy = start(new_proxy, postgres, relay, drain={"delay": "0s", "timeout": "100ms"})
    rng = random.Random(5)
    for _ in range(STOPS // 2):
        middle = Middle(proxy, postgres, relay)
        proxy.signal(number)
        if rng.random() < 0.5:
            relay.release()
        assert proxy.wait() == 0
        relay.release()
        middle.session.drain()
        middle.close()
        postgres.end_backends("middle")
        postgres.settle()
        until(lambda: relay.held == 0, what="no cancel is held back")
        proxy.start()
    proxy.assert_clean()
