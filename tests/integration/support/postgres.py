"""A private PostgreSQL: its own data directory, a free port, a Unix socket, gone at the end."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading

from .server_version import bindir, environment
from .waiting import free_port, until, until_none
from .wire import Address, ServerError, Session

DATABASE = "bulkhead"

# Every statement is logged, so that a test can prove that a text never reached the server.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "300",
    "superuser_reserved_connections": "10",
    "max_prepared_transactions": "10",
    "log_statement": "all",
    "log_min_duration_statement": "0",
    "log_line_prefix": "%m [%p] %u@%d %e ",
    # PostgreSQL 13 would keep md5, which the line of pg_hba.conf for `locked` does not take.
    "password_encryption": "scram-sha-256",
    "lc_messages": "C",
    "autovacuum": "off",
    "jit": "off",
}

HBA = """
local all postgres                trust
host  all locked    127.0.0.1/32  scram-sha-256
host  all banned    127.0.0.1/32  reject
host  all +proven   127.0.0.1/32  scram-sha-256
local all all                     trust
host  all all       127.0.0.1/32  trust
"""

ROLES = """
create role alice login;
create role bob login;
create role locked login password 'right-and-secret';
create role banned login;
create role lonely login connection limit 0;
create role clerk;
create role proven;
grant clerk to alice, bob;
"""

# t takes rows, k refuses a duplicate at once, late refuses it at COMMIT; a row n of slow_commit
# makes the COMMIT last n tenths of a second. The tables are only ever emptied, never made anew, so
# that their OIDs are the same in both runs of an oracle test.
SCHEMA = """
grant all on schema public to public;
create table t (a int, b text);
create table k (id int primary key);
create table late (id int unique deferrable initially deferred);
create table served (place serial, who text);
create table slow_commit (id int);
create function slow() returns trigger language plpgsql as
    'begin perform pg_sleep(new.id / 10.0); return null; end';
create constraint trigger slow after insert on slow_commit deferrable initially deferred
    for each row execute function slow();
create function say(what text) returns text language plpgsql as
    'begin raise notice ''%'', what; return what; end';
grant all on all tables in schema public to public;
grant all on all sequences in schema public to public;
"""


def is_alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


class Postgres:
    """`settings` are laid over SETTINGS for all of its life."""

    def __init__(self, **settings):
        self.settings = {**SETTINGS, **settings}
        self.port = free_port()
        # PostgreSQL refuses to run as root; the packages make a user for it.
        self._user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pgbulkhead-pg-", dir="/tmp"))
        self.directory.chmod(0o755)
        if self._user:
            os.chown(self.directory, self._user.pw_uid, self._user.pw_gid)
        self.log = self.directory / "log"
        self._process = None
        self._admin = None
        self._lock = threading.Lock()
        self._run(
            "initdb",
            "-D",
            self._data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        )
        (self._data / "pg_hba.conf").write_text(HBA)
        self.start()
        self.sql(f"create database {DATABASE}", database="postgres")
        self.sql(ROLES)
        self.sql(SCHEMA)

    @property
    def _data(self):
        return self.directory / "data"

    @property
    def address(self):
        return Address("127.0.0.1", self.port)

    @property
    def unix_address(self):
        return Address(f"{self.directory}/.s.PGSQL.{self.port}")

    def _identity(self):
        if not self._user:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _run(self, program, *args):
        done = subprocess.run(
            [f"{bindir()}/{program}", *map(str, args)],
            capture_output=True,
            text=True,
            cwd="/",
            env=environment(),
            **self._identity(),
        )
        assert done.returncode == 0, done.stderr

    def replace_hba(self, hba, ident=""):
        """Its rules of who may log in and how, and its maps of names; in force when it returns."""
        (self._data / "pg_hba.conf").write_text(hba)
        (self._data / "pg_ident.conf").write_text(ident)
        self.reload()

    def reload(self):
        """Its files, also pg_hba.conf, are read anew; all of its processes have been told when it returns."""
        loaded = self.value("select pg_conf_load_time()")
        self.sql("select pg_reload_conf()")
        until(lambda: self.value("select pg_conf_load_time()") != loaded, what="its files are read anew")

    # ---- life

    def start(self):
        settings = {
            **self.settings,
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.directory,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [f"{bindir()}/postgres", "-D", str(self._data), *options],
                stdout=log,
                stderr=log,
                cwd="/",
                env=environment(),
                **self._identity(),
            )
        until(self._answers, within=20, what="PostgreSQL answers")

    def postmaster(self):
        """Its process id."""
        return self._process.pid

    def is_up(self):
        return self._process is not None and self._process.poll() is None

    def _answers(self):
        assert self._process.poll() is None, self.log.read_text()[-2000:]
        try:
            return self.value("select 1 + 0", database="postgres")
        except (OSError, ServerError):
            return None

    def stop(self, how=signal.SIGINT):
        """SIGINT is PostgreSQL's fast shutdown, SIGQUIT the immediate one."""
        self._forget_admin()
        if self._process and self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def restart(self, how=signal.SIGINT):
        self.stop(how)
        self.start()

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- the administrator's eyes

    def sql(self, text, database=DATABASE):
        """Runs `text` in the administrator's connection and returns the rows."""
        with self._lock:
            if database != DATABASE:
                session = self._connect(database)
                try:
                    return session.query(text, within=20)
                finally:
                    session.terminate()
            if self._admin is None or self._admin.eof:
                self._admin = self._connect(DATABASE)
            try:
                return self._admin.query(text, within=20)
            except OSError:
                self._admin = None
                raise

    def _connect(self, database):
        return Session(
            self.unix_address,
            {"user": "postgres", "database": database, "application_name": "admin"},
        )

    def _forget_admin(self):
        with self._lock:
            if self._admin:
                self._admin.terminate()
            self._admin = None

    def value(self, text, database=DATABASE):
        return self.sql(text, database)[0][0]

    def count(self, text):
        return int(self.value(text))

    def busy(self):
        """Client sessions that are not idle, as rows for a person; not the administrator's nor a
        rival's."""
        return self.sql(
            """select pid, usename, application_name, state, wait_event, left(query, 60)
            from pg_stat_activity
            where backend_type = 'client backend' and application_name <> 'admin'
              and state is distinct from 'idle' and position('/* rival */' in query) = 0"""
        )

    def locks(self):
        """Locks of the same sessions."""
        return self.sql(
            """select l.pid, locktype, mode, left(query, 60) from pg_locks l
            join pg_stat_activity s using (pid)
            where s.backend_type = 'client backend' and application_name <> 'admin'
              and position('/* rival */' in query) = 0"""
        )

    def running(self, marker):
        """How many sessions execute a statement that contains `marker` right now."""
        return self.count(
            f"""select count(*) from pg_stat_activity where state = 'active'
              and application_name <> 'admin' and position('{marker}' in query) > 0"""
        )

    def backends(self):
        """How many client backends there are besides the test's own."""
        return self.count(
            """select count(*) from pg_stat_activity
               where backend_type = 'client backend' and application_name <> 'admin'"""
        )

    def end_backends(self, marker=""):
        """Terminates all client backends, or those whose last statement has `marker`; how many."""
        return self.count(
            f"""select count(pg_terminate_backend(pid)) from pg_stat_activity
                where backend_type = 'client backend' and application_name <> 'admin'
                  and position('{marker}' in query) > 0"""
        )

    def backend_pids(self):
        """The process ids of the same backends."""
        rows = self.sql(
            """select pid from pg_stat_activity
               where backend_type = 'client backend' and application_name <> 'admin'"""
        )
        return [int(pid) for (pid,) in rows]

    def kill_backends(self):
        """SIGKILL to each, after which PostgreSQL ends every other process of its, too, and
        recovers as from a crash; returns when it is up again."""
        pids = self.backend_pids()
        self._forget_admin()
        for pid in pids:
            # The first was enough when PostgreSQL is quick.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(is_alive, pids)), what="all have been reaped")
        self.wait_until_up()

    def wait_until_up(self):
        """After a crash of one of its processes."""
        self._forget_admin()
        until(self._answers, within=20, what="PostgreSQL has recovered")

    def settle(self, within=5.0):
        """Waits until nobody works and no lock is held."""
        until_none(self.busy, within, "no session works any more")
        until_none(self.locks, within, "no lock is held any more")

    def empty_tables(self):
        self.sql("truncate t, k, late, served, slow_commit restart identity")

    def contents(self):
        """What the tables hold, for comparing the effects of two runs."""
        return self.sql(
            """select 't', a::text, b from t union all select 'k', id::text, '' from k
            union all select 'late', id::text, '' from late order by 1, 2, 3"""
        )

    def log_end(self):
        return self.log.stat().st_size

    def has_seen(self, marker, since=0):
        """Whether a statement text with `marker` reached the server after `since`, a former
        log_end()."""
        with open(self.log, "rb") as log:
            log.seek(since)
            return marker.encode() in log.read()
