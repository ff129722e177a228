"""Waiting for a condition with a deadline, and ports nobody listens on."""

import contextlib
import itertools
import os
import random
import re
import socket
import time

# Every deadline is multiplied by this, so that sanitizer builds and slow machines pass the same
# tests.
PATIENCE = float(os.environ.get("PGBULKHEAD_TEST_PATIENCE", "1"))


class Late(AssertionError):
    """A condition did not come true in its time."""


def until(condition, within=5.0, what="the condition"):
    """Polls until `condition()` is true and returns its value; fails after `within` seconds."""
    end = time.monotonic() + within * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Late(f"{what}: still {value!r} after {within * PATIENCE:g} s")
        time.sleep(0.004)


def until_none(fetch, within=5.0, what="nothing"):
    """Polls until `fetch()` returns nothing; fails with what was still there."""
    left = []

    def gone():
        left[:] = [fetch()]
        return not left[0]

    try:
        until(gone, within, what)
    except Late:
        raise Late(f"{what}: after {within * PATIENCE:g} s still {left[0]!r}") from None


# Below the ports that the kernel gives to outgoing connections, which may take one at any time; each
# worker of a run has a part of its own, and no process gives a port twice before all were given.
_PORTS_EACH = 5000
_WORKER = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
_FIRST_PORT = 11_000 + _WORKER % 4 * _PORTS_EACH
_places = itertools.count(random.randrange(_PORTS_EACH))


def free_port():
    """A TCP port on which nobody listens and that nobody else is given."""
    for place in itertools.islice(_places, _PORTS_EACH):
        port = _FIRST_PORT + place % _PORTS_EACH
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Stopwatch:
    """`with Stopwatch() as watch: ...`, then `watch.seconds`."""

    def __enter__(self):
        self._start = time.monotonic()
        self.seconds = 0.0
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._start
