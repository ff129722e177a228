"""The two proxies with the same number of backends, each in a session of its own, in front of one PostgreSQL."""

import functools
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from bed import Proxy, binary, postgres_module
from support.waiting import free_port, until
from support.wire import Address, Session

USER, DATABASE = "alice", postgres_module.DATABASE

PGBOUNCER_INI = """
[databases]
* = host={server_host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir = {directory}
auth_type = trust
auth_file = {directory}/users
pool_mode = {pooling}
default_pool_size = {backends}
max_client_conn = 1000
{more}
ignore_startup_parameters = extra_float_digits
"""


# The first that prepares statements on whichever backend is used, and how many of them it then keeps by default.
PREPARES_SINCE, STATEMENTS_KEPT = (1, 21), 200


def pgbouncer():
    """The binary: Debian's, unless PGBOUNCER names another."""
    return os.environ.get("PGBOUNCER") or shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"


@functools.cache
def pgbouncer_version():
    words = subprocess.run([pgbouncer(), "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(int(number) for number in words.split()[1].split("."))


def pgbouncer_prepares():
    return pgbouncer_version() >= PREPARES_SINCE


class PgBouncer:
    """PgBouncer with its default settings, and others laid over them. It refuses to run as root."""

    def __init__(self, server_host, server_port, backends, pooling, **settings):
        self.port = free_port()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pgbulkhead-bouncer-", dir="/tmp"))
        self.directory.chmod(0o755)
        (self.directory / "users").write_text(f'"{USER}" ""\n')
        file = self.directory / "pgbouncer.ini"
        if pgbouncer_prepares():
            settings["max_prepared_statements"] = STATEMENTS_KEPT
        more = "\n".join(f"{name} = {value}" for name, value in settings.items())
        file.write_text(PGBOUNCER_INI.format(server_host=server_host, server_port=server_port, port=self.port,
                                             directory=self.directory, backends=backends, pooling=pooling, more=more))
        identity = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
            identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen([pgbouncer(), str(file)], stdout=log, stderr=log,
                                            cwd="/", start_new_session=True, **identity)
        until(lambda: answers(self.port), within=10, what="PgBouncer answers")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.directory, ignore_errors=True)


class Bulkhead(Proxy):
    """pgbulkhead with as many permits as PgBouncer has backends, and a queue for all other clients."""

    def __init__(self, server, server_host, backends, queue=1000):
        changes = {
            # One backend of the pool is set aside for housekeeping.
            "databases": {"*": {"conninfo": f"host={server_host} port={server.port}", "pool_size": backends + 1}},
            "workloads": [{"name": "default", "concurrency": backends, "queue": queue, "queue_wait": "10s"}],
        }
        super().__init__(server, changes, start=False)
        with open(self.directory / "log", "ab") as log:
            # Its figures are read from /proc.
            command = [str(binary()), "run", "--allow-dumps", "-c", str(self.file)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        until(lambda: answers(self.port), within=10, what="pgbulkhead answers")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.remove()


class Direct:
    """PostgreSQL itself, for comparison: it has no proxy's cost."""

    def __init__(self, server):
        self.port, self.directory, self.process = server.port, server.directory, None


def answers(port):
    try:
        session = Session(Address("127.0.0.1", port), {"user": USER, "database": DATABASE})
    except OSError:
        return False
    session.terminate()
    return True


def warm_up(peer):
    """All backends are opened, and the memory of both sides is touched, before anything is measured."""
    pgbench("-n", "-S", "-c", "32", "-j", "2", "-t", "50", "-h", "127.0.0.1", "-p", str(peer.port), "-U", USER,
            DATABASE)


def pgbench(*command):
    subprocess.run(["pgbench", *command], check=True, capture_output=True)


def fill_database(server, scale):
    pgbench("-i", "-q", "-s", str(scale), "-h", str(server.directory), "-p", str(server.port), "-U", USER, DATABASE)
    server.sql("vacuum analyze")


class Peers:
    """Made on first use: a proxy for each number of backends and each transport, which both legs share."""

    def __init__(self, server):
        self._server = server
        self._made = {}

    def get(self, name, cell):
        if name == "direct":
            return Direct(self._server)
        # Without prepared statements of its own it must pool by session, where every client keeps a backend.
        keeps = name == "pgbouncer" and cell.workload.protocol == "prepared" and not pgbouncer_prepares()
        its_pooling, backends = ("session", cell.clients) if keeps else ("transaction", cell.backends)
        key = (name, cell.transport, backends, its_pooling)
        if key not in self._made:
            host = self._server.directory if cell.transport == "unix" else "127.0.0.1"
            if name == "pgbouncer":
                self._made[key] = PgBouncer(host, self._server.port, backends, its_pooling)
            else:
                self._made[key] = Bulkhead(self._server, host, backends)
            warm_up(self._made[key])
        return self._made[key]

    def stop(self):
        while self._made:
            self._made.popitem()[1].stop()
