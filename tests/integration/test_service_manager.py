"""What a service manager and the proxy tell one another: sd_notify, the watchdog, and sockets that are handed
over. systemd's own socket-activate does it once; the rest plays its part with the same descriptors and variables."""

import os
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from support.postgres import DATABASE
from support.proxy import Proxy, binary
from support.waiting import PATIENCE, free_port, until
from support.wire import Address, Session

pytestmark = pytest.mark.needs_proxy

ALICE = {"user": "alice", "database": DATABASE}


class Managed(Proxy):
    """A proxy that was started by a service manager: with `sockets` from descriptor 3 on, and words to `notify`."""

    def __init__(self, *args, sockets=(), environment=None, **more):
        self.sockets, self.environment = list(sockets), environment or {}
        super().__init__(*args, **more)

    def _launch(self, log):
        # The number is known in the child only. A descriptor may stand where another has to go, so all
        # are copied out of the way first.
        above = [os.dup(sock.fileno()) for sock in self.sockets]
        copies = " ".join(f"{3 + at}<&{fd}" for at, fd in enumerate(above))
        closed = " ".join(f"{fd}<&-" for fd in above if fd >= 3 + len(above))
        script = f'exec env LISTEN_PID=$$ LISTEN_FDS={len(above)} "$@" {copies} {closed}'
        try:
            return subprocess.Popen(
                ["bash", "-c", script, "bash", *self._command_line()],
                stdout=log,
                stderr=log,
                cwd="/",
                pass_fds=above,
                env={**os.environ, **self.environment},
            )
        finally:
            for fd in above:
                os.close(fd)


@pytest.fixture
def managed(postgres, new_proxy):
    def make(changes=None, **more):
        return new_proxy(postgres, changes, kind=Managed, **more)

    return make


# ---- words


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.settimeout(10 * PATIENCE)

    def hear(self):
        """The next datagram that is not a sign of life, as a dict."""
        while True:
            words = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))
            if words != {"WATCHDOG": "1"}:
                return words

    def wait_for_life(self):
        while self.socket.recv(4096) != b"WATCHDOG=1":
            pass


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    made = Manager(str(tmp_path / "notify") if request.param == "path" else f"@pgbulkhead-{os.getpid()}")
    yield made
    made.socket.close()


def test_each_stage_of_its_life_is_told(managed, manager):
    proxy = managed({"drain": {"timeout": "7s"}}, environment={"NOTIFY_SOCKET": manager.name})
    assert manager.hear() == {"READY": "1", "STATUS": "serving"}
    proxy.signal(signal.SIGHUP)
    assert set(manager.hear()) == {"RELOADING", "MONOTONIC_USEC"}
    assert manager.hear() == {"READY": "1", "STATUS": "serving"}
    proxy.file.write_text("nonsense: [")
    said = manager.hear(), manager.hear()
    assert said[0]["RELOADING"] == "1"
    assert said[1]["READY"] == "1" and "the file was refused" in said[1]["STATUS"]
    proxy.signal(signal.SIGTERM)
    stopping = manager.hear()
    assert (stopping["STOPPING"], stopping["STATUS"]) == ("1", "draining")
    assert int(stopping["EXTEND_TIMEOUT_USEC"]) > 7_000_000
    assert proxy.wait() == 0


def test_ready_is_told_only_when_clients_get_in(managed, manager):
    proxy = managed(environment={"NOTIFY_SOCKET": manager.name}, start=False)
    with socket.create_server(("127.0.0.1", proxy.port)):
        with pytest.raises(AssertionError, match="exit 1"):
            proxy.start()
    manager.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        manager.hear()


def test_signs_of_life_come_from_the_loop_and_end_with_it(managed, manager):
    interval = 0.4 * PATIENCE
    proxy = managed(
        environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": str(round(interval * 1e6))}
    )
    manager.hear()
    manager.socket.settimeout(interval)
    for _ in range(3):
        manager.wait_for_life()
    proxy.signal(signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            while True:
                manager.wait_for_life()
    finally:
        proxy.signal(signal.SIGCONT)
    manager.wait_for_life()


def test_who_is_not_the_one_that_is_watched_gives_no_signs(managed, manager):
    proxy = managed(
        environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "2000", "WATCHDOG_PID": "1"}
    )
    assert manager.hear()["READY"] == "1"
    proxy.signal(signal.SIGTERM)
    assert b"STOPPING=1" in manager.socket.recv(4096)
    # One more, in whatever is left of its life.
    proxy.signal(signal.SIGTERM)
    assert proxy.wait() == 0


def test_nobody_who_listens_is_no_reason_to_stop(managed):
    proxy = managed(environment={"NOTIFY_SOCKET": "/nowhere/at/all"})
    assert proxy.get("/readyz")[0] == 200


# ---- sockets


@pytest.fixture
def door():
    with socket.create_server(("127.0.0.1", 0), backlog=512) as made:
        yield made


def port_of(door):
    return door.getsockname()[1]


def answer(address):
    session = Session(address, ALICE)
    got = session.value("select 'served'")
    session.terminate()
    return got


def test_a_socket_that_was_handed_over_is_served(managed, door):
    assert answer(managed(sockets=[door], port=port_of(door)).address) == "served"


def test_a_unix_socket_that_was_handed_over_stays_where_it_is(managed, tmp_path):
    path = tmp_path / ".s.PGSQL.6432"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(16)
        port = free_port()
        doors = [
            {"name": "app", "address": "127.0.0.1", "port": port},
            {"name": "local", "unix_socket_dir": str(tmp_path), "port": 6432},
        ]
        proxy = managed({"listen": doors}, sockets=[listening], port=port)
        assert answer(Address(str(path))) == "served"
        proxy.stop()
        assert path.is_socket()


def test_one_socket_of_all_addresses_serves_both_families(managed):
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as everywhere:
        port = port_of(everywhere)
        listen = [{"name": "app", "address": "*", "port": port}]
        proxy = managed(
            {"listen": listen, "auth": {"allow_insecure": True}}, sockets=[everywhere], port=port
        )
        for host in ("127.0.0.1", "::1"):
            assert answer(Address(host, port)) == "served"


def test_a_socket_that_no_entry_of_the_file_names_keeps_it_from_starting(managed, door):
    proxy = managed(sockets=[door], start=False)
    with pytest.raises(AssertionError, match=r"exit 1(.|\n)*listens on 127\.0\.0\.1:\d+, and no entry"):
        proxy.start()


def test_a_descriptor_that_does_not_listen_keeps_it_from_starting(managed):
    with socket.socket() as idle:
        proxy = managed(sockets=[idle], start=False)
        with pytest.raises(AssertionError, match="descriptor 3 of the service manager is no listening"):
            proxy.start()


def test_a_restart_loses_no_attempt_to_connect(managed, door):
    """Clients come one after the other while the proxy is restarted three times: each is served, some late."""
    proxy = managed(sockets=[door], port=port_of(door))
    address, over = proxy.address, threading.Event()
    served, failed = [], []

    def knock():
        while not over.is_set():
            try:
                served.append(answer(address))
            except Exception as problem:  # pylint: disable=broad-except
                failed.append(repr(problem))

    knocking = [threading.Thread(target=knock, daemon=True) for _ in range(4)]
    for thread in knocking:
        thread.start()
    for _ in range(3):
        before = len(served)
        until(lambda: len(served) > before + 20, what="they are served")
        proxy.stop()
        proxy.start()
    before = len(served)
    until(lambda: len(served) > before + 20, what="they are served again")
    over.set()
    for thread in knocking:
        thread.join()
    # One who is in the middle of a login or between two transactions is told; nobody is refused or reset.
    assert all("57P01" in text or "57P03" in text for text in failed), failed


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="no systemd-socket-activate here")
def test_systemds_own_activation_starts_it_with_the_first_client(postgres, new_proxy):
    proxy = new_proxy(postgres, start=False)
    with open(proxy.directory / "stderr", "ab") as log:
        activate = ["systemd-socket-activate", "-l", f"127.0.0.1:{proxy.port}"]
        run = [str(binary()), "run", *proxy.options, "-c", str(proxy.file)]
        proxy.process = subprocess.Popen([*activate, *run], stdout=log, stderr=log)
    until(lambda: "Listening on" in proxy.log(), what="systemd listens")
    assert answer(proxy.address) == "served"
    assert proxy.process.poll() is None
