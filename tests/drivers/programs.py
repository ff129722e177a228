"""The programs: how each is started, whether its driver is here, and what must be built first."""

import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/drivers"
# Debian's: the drivers are its packages, which another Python of the machine does not see.
PYTHON = "/usr/bin/python3"


@dataclass
class Program:
    name: str
    command: list
    # Fetches or builds what is needed; returns why that cannot be, or nothing.
    prepare: Callable
    # Part of what CI runs.
    short: bool = False
    environment: dict = field(default_factory=dict)


def attempt(command, **options):
    """Runs a command; returns the end of what it said when it failed, or nothing."""
    BUILD.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, **options
    )
    return " ".join((done.stdout + done.stderr).split())[-400:] if done.returncode else ""


def here(command):
    return "" if shutil.which(command) else f"there is no {command}; scripts/setup --drivers"


def newer(target, *sources):
    return target.exists() and all(
        target.stat().st_mtime > source.stat().st_mtime for source in sources
    )


# ---- Python

def python(module, short=True, file=None):
    command = [PYTHON, str(HERE / f"python/with_{file or module}.py")]
    return Program(
        file or module, command, lambda: attempt([PYTHON, "-c", f"import {module}"]), short
    )


# ---- Node

def node_modules():
    folder = BUILD / "node"
    folder.mkdir(parents=True, exist_ok=True)
    sources = [HERE / "node/package.json", HERE / "node/package-lock.json"]
    if newer(folder / "node_modules", *sources):
        return ""
    if here("npm"):
        return here("npm")
    for source in sources:
        shutil.copy(source, folder)
    said = attempt(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    (folder / "node_modules").touch()
    return said


def node(name):
    return Program(
        name,
        ["node", str(HERE / f"node/with_{name}.js")],
        node_modules,
        True,
        {"NODE_PATH": str(BUILD / "node/node_modules")},
    )


ALL = [
    python("psycopg2"),
    python("psycopg"),
    python("asyncpg"),
    python("sqlalchemy"),
    python("django"),
    node("pg"),
    node("postgres"),
    Program("psql", [PYTHON, str(HERE / "python/with_psql.py")], lambda: here("psql"), True),
]
