"""Certificates are replaced in place: who is in stays, who comes next sees the new one."""

import os
import shutil
import signal
import ssl
import threading

import pytest

from support.messages import Q
from support.postgres import DATABASE
from support.tls import TlsAddress, client_context, door
from support.waiting import until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

ALICE = {"user": "alice", "database": DATABASE}


@pytest.fixture(scope="module")
def identities(authority, tmp_path_factory):
    """Two certificates for one name."""
    made = []
    for name in ("old", "new"):
        folder = tmp_path_factory.mktemp(name)
        made.append([shutil.copy(path, folder) for path in authority.issue("localhost")])
    return made


@pytest.fixture
def shown(tmp_path, identities):
    """The files that the proxy is told to show."""
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    put(paths, identities[0])
    return paths


def put(paths, identity):
    """One after the other, each by renaming: in between they are no pair."""
    for path, source in zip(paths, identity):
        beside = path.with_suffix(".new")
        shutil.copy(source, beside)
        os.replace(beside, path)


def certificate(address):
    sock = address.connect()
    try:
        return ssl.DER_cert_to_PEM_cert(sock.tls.getpeercert(binary_form=True))
    finally:
        sock.close()


def test_a_new_certificate_serves_the_next_and_fifty_who_work_feel_nothing(
    new_proxy, postgres, authority, identities, shown
):
    proxy = new_proxy(postgres, tls=door(shown))
    address = TlsAddress(proxy.address, client_context(authority.root))
    old, new = (open(identity[0]).read() for identity in identities)
    assert certificate(address) == old
    sessions = [Session(address, ALICE) for _ in range(50)]
    ending, rounds = threading.Event(), [0]

    def work():
        while not ending.is_set():
            for session in sessions:
                session.send(Q("select 6 * 7"))
            for session in sessions:
                assert session.until("Z")[1].row() == ("42",)
            rounds[0] += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        until(lambda: rounds[0] > 1, what="all work")
        put(shown, identities[1])
        until(lambda: certificate(address) == new, what="the new one is shown")
        seen = rounds[0]
        until(lambda: rounds[0] > seen + 1 or not worker.is_alive(), what="all work still")
        assert worker.is_alive()
    finally:
        ending.set()
        worker.join()
    for session in sessions:
        assert session.value("select 1 + 1") == "2"
        session.terminate()


@pytest.mark.parametrize("how", ["file", "SIGHUP"])
def test_files_that_do_not_serve_change_nothing_and_are_told(
    new_proxy, postgres, authority, identities, shown, how
):
    proxy = new_proxy(postgres, tls=door(shown))
    address = TlsAddress(proxy.address, client_context(authority.root))
    before = certificate(address)
    shown[1].write_text("no key at all\n")
    if how == "SIGHUP":
        proxy.signal(signal.SIGHUP)
    until(lambda: "tls_reload_failed" in proxy.log(), what="it is told")
    assert "no key at all" not in proxy.log()
    assert certificate(address) == before
    put(shown, identities[1])
    until(lambda: certificate(address) != before, what="a pair serves again")


def test_a_turned_link_as_of_a_kubernetes_secret_is_noticed(
    new_proxy, postgres, authority, identities, tmp_path
):
    for number, identity in enumerate(identities):
        folder = tmp_path / f"version{number}"
        folder.mkdir()
        for path, name in zip(identity, ("tls.crt", "tls.key")):
            shutil.copy(path, folder / name)
    (tmp_path / "..data").symlink_to("version0")
    paths = []
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
        paths.append(tmp_path / name)
    proxy = new_proxy(postgres, tls=door(paths))
    address = TlsAddress(proxy.address, client_context(authority.root))
    before = certificate(address)
    (tmp_path / "..new").symlink_to("version1")
    os.replace(tmp_path / "..new", tmp_path / "..data")
    until(lambda: certificate(address) != before, what="the new one is shown")
    # Both had changed when it looked: no pair that was none.
    assert "tls_reload_failed" not in proxy.log()
