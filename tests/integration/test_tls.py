"""TLS for clients: who gets in how, what is refused, and that a refusal says what PostgreSQL's says."""

import json
import os
import socket
import ssl

import pytest

from support.certificates import Authority
from support.messages import GSSENC_REQUEST, Q, SSL_REQUEST, cancel_request, codes, startup
from support.postgres import DATABASE
from support.proxy import run
from support.storms import fail_handshakes
from support.tls import TlsAddress, client_context, door, psql, serve_tls
from support.waiting import PATIENCE, until
from support.wire import Closed, ServerError, Session

pytestmark = pytest.mark.needs_proxy

ALICE = {"user": "alice", "database": DATABASE}
FAILED = "pgbulkhead_tls_handshake_failures_total"
TLS12 = ssl.TLSVersion.TLSv1_2


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres, identity):
    return module_proxy(postgres, {"log": {"level": "debug"}}, tls=door(identity, "allow"))


@pytest.fixture(scope="module")
def strict(module_proxy, postgres, identity):
    return module_proxy(postgres, tls=door(identity))


@pytest.fixture(scope="module")
def secure_postgres(own_postgres, authority, identity):
    """PostgreSQL itself, with the same certificate and no way in but by TLS."""
    serve_tls(
        own_postgres,
        authority.root,
        identity,
        "local all all trust\n"
        "hostssl all locked 127.0.0.1/32 scram-sha-256\n"
        "hostssl all all 127.0.0.1/32 trust\n",
    )
    return own_postgres


def fatal(got):
    return {key: got[-1].fields()[key] for key in "SCM"}


# ---- libpq's modes


@pytest.mark.parametrize(
    "mode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
)
def test_every_sslmode_of_libpq_gets_in(proxy, authority, mode):
    before = proxy.metrics().sum("pgbulkhead_tls_handshakes_total")
    done = psql(proxy, f"sslmode={mode}", f"sslrootcert={authority.root}")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    grew = proxy.metrics().sum("pgbulkhead_tls_handshakes_total") - before
    assert grew == (mode not in ("disable", "allow"))


def test_a_door_that_demands_tls_lets_in_who_can_speak_it(strict, authority):
    assert "no pg_hba.conf entry" in psql(strict, "sslmode=disable").stderr
    assert psql(strict, "sslmode=allow", f"sslrootcert={authority.root}").stdout == "42\n"
    assert psql(strict, "sslmode=verify-full", f"sslrootcert={authority.root}").stdout == "42\n"


def test_a_client_that_does_not_believe_the_certificate_leaves_and_is_counted(
    proxy, tmp_path, authority
):
    stranger = Authority(tmp_path, "stranger")
    failed = proxy.metrics().sum(FAILED)
    done = psql(proxy, "sslmode=verify-ca", f"sslrootcert={stranger.root}")
    assert done.returncode == 2 and "certificate verify failed" in done.stderr
    until(lambda: proxy.metrics().sum(FAILED) == failed + 1, what="the failure is counted")
    assert "tls_handshake_failed" in proxy.log()


# ---- as PostgreSQL says it


def test_who_comes_without_tls_is_told_so_as_by_a_pg_hba_conf_of_hostssl(strict, secure_postgres):
    said = []
    for address in (secure_postgres.address, strict.address):
        session = Session(address)
        session.send(startup(ALICE))
        said.append(fatal(session.drain()))
        session.close()
    assert said[0] == said[1]
    assert said[0]["C"] == "28000"


@pytest.mark.parametrize("request_", [SSL_REQUEST, GSSENC_REQUEST], ids=["SSL", "GSSAPI"])
def test_no_encryption_is_asked_for_inside_tls(proxy, secure_postgres, authority, request_):
    said = []
    for server in (secure_postgres, proxy):
        session = Session(TlsAddress(server.address, client_context(authority.root)))
        session.send(request_)
        said.append(fatal(session.drain()))
        session.close()
    # What is supported is the server's own.
    for words in said:
        words["M"] = words["M"].split(":")[0]
    assert said[0] == said[1]
    assert said[0]["C"] == "0A000"


def test_a_request_for_gssapi_is_refused_and_tls_may_follow(proxy, authority):
    session = Session(proxy.address)
    session.send(GSSENC_REQUEST)
    assert session.raw(1) == b"N"
    session.send(SSL_REQUEST)
    assert session.raw(1) == b"S"
    session.sock.setblocking(True)
    session.sock = client_context(authority.root).wrap_socket(
        session.sock, server_hostname="localhost"
    )
    session.sock.sendall(startup(ALICE))
    assert session.sock.recv(1) == b"R"
    session.close()


@pytest.mark.parametrize(
    "stuffed", [startup(ALICE) + Q("select 'stuffed'"), b"\x16\x03\x01\x02\x00", b"x"]
)
def test_cve_2021_23214_bytes_stuffed_behind_the_request_are_never_read(proxy, postgres, stuffed):
    since = postgres.log_end()
    session = Session(proxy.address)
    session.send(SSL_REQUEST + stuffed)
    assert session.raw(1) == b"S"
    assert fatal(session.drain()) == {
        "S": "FATAL",
        "C": "08P01",
        "M": "received unencrypted data after SSL request",
    }
    assert not postgres.has_seen("stuffed", since)


# ---- direct TLS


def raw_handshake(proxy, context):
    sock = socket.create_connection(proxy.address, timeout=5 * PATIENCE)
    return context.wrap_socket(sock, server_hostname="localhost")


def test_direct_tls_works_with_the_protocols_name_only(proxy, authority):
    direct = TlsAddress(
        proxy.address, client_context(authority.root, alpn=["postgresql"]), direct=True
    )
    session = Session(direct, ALICE)
    assert session.value("select 6 * 7") == "42"
    assert session.sock.selected_alpn_protocol() == "postgresql"
    session.terminate()
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        raw_handshake(proxy, client_context(authority.root, alpn=["h2", "http/1.1"]))
    nameless = raw_handshake(proxy, client_context(authority.root))
    with pytest.raises((Closed, AssertionError, OSError, ssl.SSLError)):
        nameless.sendall(startup(ALICE))
        assert nameless.recv(1) != b"", "closed without a word"
    nameless.close()


def test_a_request_needs_no_protocols_name_but_not_another(proxy, authority):
    Session(TlsAddress(proxy.address, client_context(authority.root)), ALICE).terminate()
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        TlsAddress(proxy.address, client_context(authority.root, alpn=["h2"])).connect()


@pytest.mark.parametrize("way", ["plain", "tls", "direct"])
def test_a_cancel_request_is_heard_whichever_way_it_comes(proxy, postgres, authority, way):
    context = client_context(authority.root, alpn=["postgresql"])
    secure = TlsAddress(proxy.address, context)
    session = Session(secure, ALICE)
    session.send(Q(f"select pg_sleep(60) /* {way} */"))
    until(lambda: postgres.running(f"/* {way} */") == 1, what="it runs")
    other = Session(
        {
            "plain": proxy.address,
            "tls": secure,
            "direct": TlsAddress(proxy.address, context, direct=True),
        }[way]
    )
    other.send(cancel_request(session.pid, session.key))
    assert other.raw(1) == b""
    other.close()
    assert codes(session.until("Z")) == ["T", "57014", "Z"]
    session.terminate()


# ---- versions and client certificates


def test_the_least_version_is_the_doors(new_proxy, postgres, authority, identity):
    proxy = new_proxy(postgres, tls=door(identity, min_version="1.3"))
    assert Session(TlsAddress(proxy.address, client_context(authority.root)), ALICE)
    with pytest.raises(ssl.SSLError, match="(?i)protocol.version"):
        TlsAddress(proxy.address, client_context(authority.root, newest=TLS12)).connect()


@pytest.mark.parametrize("newest", [None, TLS12], ids=["1.3", "1.2"])
def test_a_client_certificate_is_optional_and_a_strangers_is_refused_as_by_postgresql(
    new_proxy, postgres, secure_postgres, authority, identity, tmp_path, newest
):
    proxy = new_proxy(postgres, tls=door(identity, client_ca=str(authority.root)))
    stranger = Authority(tmp_path, "stranger").issue("alice")
    alice = authority.issue("alice")
    for own in (None, alice):
        address = TlsAddress(
            proxy.address, client_context(authority.root, identity=own, newest=newest)
        )
        session = Session(address, ALICE)
        assert session.value("select 6 * 7") == "42"
        session.terminate()
    reasons = []
    for server in (secure_postgres, proxy):
        context = client_context(authority.root, identity=stranger, newest=newest)
        with pytest.raises(ssl.SSLError) as caught:
            # With TLS 1.3 the client hears of it at its first read.
            TlsAddress(server.address, context).connect().tls.recv(1)
        reasons.append(caught.value.reason)
    assert reasons[0] == reasons[1] == "TLSV1_ALERT_UNKNOWN_CA"


# ---- the file


def test_check_and_start_say_what_is_wrong_with_the_files(unstarted, identity, authority, tmp_path):
    other = authority.issue("other")
    proxy = unstarted(None)
    cases = [
        (str(tmp_path / "none.crt"), identity[1], "No such file or directory"),
        (identity[0], other[1], "key values mismatch"),
        (identity[1], identity[1], "no start line"),
    ]
    for certificate, key, words in cases:
        proxy.budgets["listen"][0]["tls"] = door((certificate, key))
        proxy.file.write_text(json.dumps(proxy.budgets))
        for command in ("check", "run"):
            done = run(command, "-c", proxy.file)
            assert done.returncode != 0, command
            assert "tls of" in done.stderr and words in done.stderr, done.stderr
            assert "BEGIN" not in done.stderr


# ---- to PostgreSQL


def test_scram_binds_the_channel_to_postgresql(
    new_proxy, connect, postgres, secure_postgres, authority
):
    """libpq refuses to log in by anything but SCRAM-SHA-256-PLUS then, as the second one shows."""
    login = "user=locked password=right-and-secret channel_binding=require"
    verified = f"sslmode=verify-full sslrootcert={authority.root}"

    def behind(server, tls):
        conninfo = f"host=localhost hostaddr=127.0.0.1 port={server.port} {tls} {login}"
        return new_proxy(server, {"databases": {"*": {"conninfo": conninfo}}})

    proxy = behind(secure_postgres, verified)
    assert (
        connect(proxy).value(
            "select user || ssl::text from pg_stat_ssl where pid = pg_backend_pid()"
        )
        == "lockedtrue"
    )
    with pytest.raises(ServerError, match="channel binding"):
        connect(behind(postgres, "sslmode=disable"))


# ---- handshakes that come to nothing


def test_half_a_handshake_is_ended_in_time_and_harms_nobody(new_proxy, postgres, identity):
    proxy = new_proxy(postgres, {"auth": {"timeout": "300ms"}}, tls=door(identity))
    hello = b"\x16\x03\x01\x02\x00\x01"
    for sent in (b"", hello):
        session = Session(proxy.address)
        session.send(SSL_REQUEST)
        assert session.raw(1) == b"S"
        session.send(sent)
        assert session.raw(1) == b"", "closed"
        session.close()


def test_failed_handshakes_leave_nothing_behind(proxy, authority):
    full = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
    fail_handshakes(proxy.address, authority.root, 40)
    until(lambda: proxy.metrics().sum("pgbulkhead_startup_sessions") == 0, what="all have gone")
    files, memory = proxy.resources()
    count = 100_000 if full else 200
    fail_handshakes(proxy.address, authority.root, count)
    until(lambda: proxy.metrics().sum("pgbulkhead_startup_sessions") == 0, what="all have gone")
    files_after, memory_after = proxy.resources()
    print(
        f"{count} failed handshakes: {memory_after - memory} KiB more, {files_after - files} files"
    )
    assert files_after <= files + 4
    if not os.environ.get("PGBULKHEAD_TEST_NO_RSS"):
        assert memory_after - memory < 4096
    assert "level=warn event=tls" not in proxy.log()
