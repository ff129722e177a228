"""Changing the file of a running proxy, and what it says about it."""

import json
import os
import signal

from .proxy import merged
from .waiting import until


def attempts(proxy, result=None):
    """How often the file was loaded anew: all attempts, or those with that result."""
    labels = {"result": result} if result else {}
    return proxy.metrics().sum("pgbulkhead_config_reloads_total", **labels)


def figure(proxy, what):
    return proxy.metrics().sum(f"pgbulkhead_config_{what}")


def put(proxy, text):
    """Another file in the place of the one there is, as editors do it."""
    beside = proxy.directory / "budgets.new"
    beside.write_text(text)
    os.replace(beside, proxy.file)


def changed(proxy, changes):
    """The text of the proxy's file with `changes` laid over it, which it is from then on."""
    proxy.budgets = merged(proxy.budgets, changes)
    return json.dumps(proxy.budgets, indent=2, ensure_ascii=False)


def hang_up(proxy):
    """SIGHUP, and the file has been loaded or refused since."""
    before = attempts(proxy)
    proxy.signal(signal.SIGHUP)
    until(lambda: attempts(proxy) > before, what="the file was loaded anew")


def reload(proxy, changes):
    """The changes are in force."""
    failed = attempts(proxy, "failure")
    put(proxy, changed(proxy, changes))
    hang_up(proxy)
    assert attempts(proxy, "failure") == failed, proxy.log()[-3000:]


def workload(workloads, name, **changes):
    """The list with another value in the workload of that name."""
    return [{**each, **changes} if each["name"] == name else each for each in workloads]


def events(proxy, name):
    """The lines of the log of that event, without their time."""
    mark = f" event={name}"
    lines = [line for line in proxy.log().splitlines() if mark in line]
    return [line.partition(mark)[2].strip() for line in lines if f"{mark} " in f"{line} "]
