"""`/api/v1/holders` as a test asks for it, and a lock sampler that looks often."""

import json


def sampler(postgres, user="watcher", interval="50ms"):
    """A `lock_sampler` for the budgets file."""
    return {
        "conninfo": f"host=127.0.0.1 port={postgres.port} user={user} dbname=postgres",
        "interval": interval,
    }


def make_watcher(postgres):
    """The role that the sampler works as."""
    if not postgres.count("select count(*) from pg_roles where rolname = 'watcher'"):
        postgres.sql("create role watcher login; grant pg_monitor to watcher")


def listed(proxy):
    status, text = proxy.get("/api/v1/holders")
    assert status == 200, (status, text)
    return json.loads(text)


def holders(proxy, **wanted):
    """Those whose fields have these values."""
    return [
        holder
        for holder in listed(proxy)["holders"]
        if all(holder[name] == value for name, value in wanted.items())
    ]


def events(proxy, event):
    """The log's lines about an event."""
    return [line for line in proxy.log().splitlines() if f"event={event} " in line]
