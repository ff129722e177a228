"""The suites: where each comes from, how it is built, run, and what its output says."""

import os
import pwd
import re
import shutil
import subprocess

import sources

SUITE_SECONDS = 1200
JOBS = str(os.cpu_count() or 1)


def output_of(command, folder, environment=None, as_postgres=False):
    """Runs to the end; what fails is told by the output."""
    identity = {}
    if as_postgres and os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SUITE_SECONDS,
        check=False,
        **identity,
    )
    return done.stdout


class Suite:
    name = ""
    poolings = ("transaction", "session")

    def before(self, postgres):
        """What the server must have, made anew for each side."""

    def prepare(self, folder):
        """The folder of the built source."""
        raise NotImplementedError

    def run(self, source, port, output):
        """{test: whether it passed}"""
        raise NotImplementedError


class PostgresqlSuite(Suite):
    """PostgreSQL's own, built once for all three."""

    PARTS = (
        "src/interfaces/libpq",
        "src/bin/psql",
        "src/test/regress",
        "src/test/isolation",
        "src/test/modules/libpq_pipeline",
        "contrib/spi",
    )

    def prepare(self, folder):
        source = sources.unpack("postgresql-15", folder)
        built = source / "built-for-suites"
        if not built.exists():
            flags = ("--without-readline", "--without-zlib", "--without-icu", "CFLAGS=-O1")
            sources.build(["./configure", *flags], source)
            sources.build(["make", "-s", f"-j{JOBS}", "-C", "src/backend", "generated-headers"], source)
            for part in self.PARTS:
                sources.build(["make", "-s", f"-j{JOBS}", "-C", part], source)
            built.touch()
        return source

    def regress(self, program, schedule, source, port, output, extra=()):
        folder = source / "src/test" / ("regress" if program == "pg_regress" else "isolation")
        (output / "testtablespace").mkdir()
        (output / "testtablespace").chmod(0o777)
        text = output_of(
            [
                f"./{program}",
                "--inputdir=.",
                f"--outputdir={output}",
                "--dlpath=.",
                f"--bindir={source}/src/bin/psql",
                f"--schedule=./{schedule}",
                "--host=127.0.0.1",
                f"--port={port}",
                "--user=postgres",
                *extra,
            ],
            folder,
            {"LD_LIBRARY_PATH": str(source / "src/interfaces/libpq"), "PGISOLATIONTIMEOUT": "60"},
            as_postgres=True,
        )
        verdict = re.compile(r"^(?:test)?\s+(\S+)\s+\.\.\. (ok|FAILED)", re.MULTILINE)
        return {name: word == "ok" for name, word in verdict.findall(text)}


class Regression(PostgresqlSuite):
    name = "regression"

    def before(self, postgres):
        # One that is left behind keeps the database from being dropped.
        for database, name in postgres.sql("select database, gid from pg_prepared_xacts"):
            postgres.sql(f"rollback prepared '{name}'", database)

    def run(self, source, port, output):
        few = ("--max-concurrent-tests=20", "--max-connections=20")
        return self.regress("pg_regress", "parallel_schedule", source, port, output, few)


class Isolation(PostgresqlSuite):
    """Asks PostgreSQL whether a session's process id is blocked, so the id must be the server's."""

    name = "isolation"
    poolings = ("session",)

    def run(self, source, port, output):
        return self.regress("pg_isolation_regress", "isolation_schedule", source, port, output)


class Pipelines(PostgresqlSuite):
    """libpq's pipeline mode; most tests compare every byte with a trace."""

    name = "libpq_pipeline"

    def before(self, postgres):
        postgres.sql("drop table if exists pq_pipeline_demo, pq_pipeline_tst")

    def run(self, source, port, output):
        folder = source / "src/test/modules/libpq_pipeline"
        environment = {"LD_LIBRARY_PATH": str(source / "src/interfaces/libpq")}
        program = [folder / "libpq_pipeline"]
        verdicts = {}
        for test in output_of([*program, "tests"], folder, environment).split():
            wanted, traced = folder / f"traces/{test}.trace", output / f"{test}.trace"
            trace = ("-t", traced) if wanted.exists() else ()
            place = f"host=127.0.0.1 port={port} user=postgres dbname=bulkhead"
            text = output_of([*program, "-r", "700", *trace, test, place], folder, environment)
            # Only a failure says so.
            verdicts[test] = "libpq_pipeline:" not in text
            if trace:
                same = traced.exists() and traced.read_bytes() == wanted.read_bytes()
                verdicts[f"{test} trace"] = same
        return verdicts


DJANGO_SETTINGS = """
import os
place = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "USER": "postgres",
         "PORT": os.environ["SUITE_PORT"]}
DATABASES = {"default": {**place, "NAME": "django_a"}, "other": {**place, "NAME": "django_b"}}
SECRET_KEY = "x"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""


class Django(Suite):
    name = "django"
    LABELS = ("backends", "transactions", "queries", "select_for_update", "schema")

    def prepare(self, folder):
        source = sources.unpack("python-django", folder)
        (source / "tests/suite_settings.py").write_text(DJANGO_SETTINGS)
        return source

    def before(self, postgres):
        for name in ("django_a", "django_b"):
            for database in (f"test_{name}", name):
                postgres.sql(f"drop database if exists {database} with (force)")
            postgres.sql(f"create database {name}")

    def run(self, source, port, output):
        text = output_of(
            ["/usr/bin/python3", "runtests.py", "--settings=suite_settings", "--noinput"]
            + ["--parallel=1", "-v2", *self.LABELS],
            source / "tests",
            {"SUITE_PORT": str(port), "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        (output / "log").write_text(text)
        verdicts = {}
        test = ""
        # A test with a description has its verdict on the next line.
        for line in text.splitlines():
            named = re.match(r"(\w+ \([\w.]+\))", line)
            test = named.group(1) if named else test
            verdict = re.search(r"\.\.\. (ok|FAIL|ERROR|skipped|expected failure)", line)
            if test and verdict and verdict.group(1) != "skipped":
                verdicts[test] = verdict.group(1) in ("ok", "expected failure")
        verdicts["the test databases are dropped"] = "is being accessed by other users" not in text
        return verdicts


class LibPq(Suite):
    """The driver for Go, in whose language this program runs its tests."""

    name = "lib-pq"

    def prepare(self, folder):
        return sources.unpack("golang-github-lib-pq", folder)

    def before(self, postgres):
        postgres.sql("drop database if exists pqgotest with (force)")
        postgres.sql("create database pqgotest")

    def run(self, source, port, output):
        text = output_of(
            ["go", "test", "-p", "1", "-v", "-count=1", ".", "./hstore", "./oid", "./scram"],
            source,
            {
                "PGHOST": "127.0.0.1",
                "PGPORT": str(port),
                "PGUSER": "postgres",
                "PGDATABASE": "pqgotest",
                "PGSSLMODE": "disable",
                "GOFLAGS": "-mod=mod",
                "GOPROXY": "off",
            },
        )
        (output / "log").write_text(text)
        verdict = re.compile(r"^--- (PASS|FAIL): (\S+)", re.MULTILINE)
        return {name: word == "PASS" for word, name in verdict.findall(text)}


class Pgx(Suite):
    """Debian's packages of pgx have its tests; what only these need is laid beside the GOPATH."""

    name = "pgx"
    PACKAGES = ("pgx/v4", "pgx/v4/stdlib", "pgx/v4/pgxpool", "pgconn", "pgconn/stmtcache", "pgtype")
    NEEDED = ("golang-github-jackc-pgmock-dev", "golang-github-masterminds-semver-dev")

    def prepare(self, folder):
        types = sources.unpack("golang-github-jackc-pgtype", folder)
        needed = sources.unpack_packages(self.NEEDED, folder)
        path = folder / "pgx-gopath/src/github.com"
        if not path.exists():
            (path / "jackc").mkdir(parents=True)
            shutil.copytree(types, path / "jackc/pgtype")
            there = needed / "usr/share/gocode/src/github.com"
            shutil.copytree(there / "jackc/pgmock", path / "jackc/pgmock")
            shutil.copytree(there / "Masterminds/semver", path / "Masterminds/semver/v3")
        return folder / "pgx-gopath"

    def before(self, postgres):
        postgres.sql("drop database if exists pgx_test with (force)")
        postgres.sql("create database pgx_test")
        postgres.sql("create extension hstore", "pgx_test")
        postgres.sql("create domain uint64 as numeric(20,0)", "pgx_test")

    def run(self, source, port, output):
        place = f"host=127.0.0.1 port={port} user=postgres dbname=pgx_test sslmode=disable"
        names = ("DATABASE", "CONN_STRING", "TCP_CONN_STRING")
        text = output_of(
            ["go", "test", "-p", "1", "-v", "-count=1"]
            + [f"github.com/jackc/{package}" for package in self.PACKAGES],
            source,
            {
                **{f"PGX_TEST_{name}": place for name in names},
                "GO111MODULE": "off",
                "GOPATH": f"{source}:/usr/share/gocode",
            },
        )
        (output / "log").write_text(text)
        verdict = re.compile(r"^--- (PASS|FAIL): (\S+)", re.MULTILINE)
        verdicts = {name: word == "PASS" for word, name in verdict.findall(text)}
        broken = re.findall(r"^FAIL\s+(\S+) \[", text, re.MULTILINE)
        return {**verdicts, **{f"{package} is built": False for package in broken}}


class LibPqxx(Suite):
    """libpqxx's older tests and its newer ones: two runners, each with all tests in it."""

    name = "libpqxx"
    RUNNERS = ("test", "test/unit")

    def prepare(self, folder):
        source = sources.unpack("libpqxx", folder)
        built = source / "built-for-suites"
        if not built.exists():
            flags = ("--disable-documentation", "--disable-shared", "CXXFLAGS=-O0 -w")
            sources.build(["./configure", *flags], source)
            for part, target in (("src", "all"), *((runner, "runner") for runner in self.RUNNERS)):
                sources.build(["make", "-s", f"-j{JOBS}", "-C", part, target], source)
            built.touch()
        return source

    def run(self, source, port, output):
        place = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres"}
        verdicts = {}
        for part in self.RUNNERS:
            environment = {**place, "PGDATABASE": "bulkhead"}
            text = output_of([source / part / "runner"], source / part, environment)
            (output / f"log-{part.replace('/', '-')}").write_text(text)
            failed = set(re.findall(r"^FAILED: (\S+)", text, re.MULTILINE))
            started = re.findall(r"^Running: (\S+)", text, re.MULTILINE)
            verdicts |= {test: test not in failed for test in started}
            # One that ends the program is the last, and takes those behind it along.
            verdicts[f"{part} runs to its end"] = "Ran " in text
        return verdicts


ACTIVE_RECORD_CONFIG = """
default_connection: postgresql
connections:
  postgresql:
    arunit: &place
      min_messages: warning
      host: 127.0.0.1
      port: <%= ENV["SUITE_PORT"] %>
      username: postgres
    arunit2: *place
    arunit_without_prepared_statements:
      <<: *place
      prepared_statements: false
"""

# The order of the tests is fixed, the runner's own arguments stand behind the files.
ACTIVE_RECORD_RUNNER = """
gem "minitest", "~> 5.15"
Dir["test/cases/adapters/postgresql/**/*_test.rb"].sort.each { |file| require "./#{file}" }
ARGV.replace(["-v", "--seed", "1"])
"""


class ActiveRecord(Suite):
    """Its cases for PostgreSQL."""

    name = "activerecord"

    def prepare(self, folder):
        source = sources.unpack("rails", folder) / "activerecord"
        (source / "suite.yml").write_text(ACTIVE_RECORD_CONFIG)
        return source

    def before(self, postgres):
        for name in ("activerecord_unittest", "activerecord_unittest2"):
            postgres.sql(f"drop database if exists {name} with (force)")
            postgres.sql(f"create database {name}")

    def run(self, source, port, output):
        folders = [f"-I{path}" for path in ("test", "lib", "../activesupport/lib", "../activemodel/lib")]
        text = output_of(
            ["ruby", "-W1", *folders, "-e", ACTIVE_RECORD_RUNNER],
            source,
            {
                "ARCONN": "postgresql",
                "ARCONFIG": str(source / "suite.yml"),
                "SUITE_PORT": str(port),
                "PGHOST": "127.0.0.1",
                "PGPORT": str(port),
                "PGUSER": "postgres",
            },
        )
        (output / "log").write_text(text)
        # A warning may stand between a test's name and its verdict.
        verdict = re.compile(r"^(\w[\w:]*#test_\S+) = (?:.*\n)*?.*?\d+\.\d+ s = ([.FES])$", re.MULTILINE)
        return {name: mark == "." for name, mark in verdict.findall(text) if mark != "S"}


PARTS = (
    Pipelines(),
    Isolation(),
    Regression(),
    LibPqxx(),
    LibPq(),
    Pgx(),
    Django(),
    ActiveRecord(),
)
ALL = {suite.name: suite for suite in PARTS}
