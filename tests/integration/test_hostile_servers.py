"""A server that is not what it should be: what it says before and during the login can neither end
the proxy, nor hold up others, nor pass for PostgreSQL's words."""

import pytest

from support.impostor import LOGIN, OK, Impostor, read_message, read_startup, scram
from support.messages import Q, message
from support.postgres import DATABASE
from support.secrets import findings, secret
from support.waiting import PATIENCE, Stopwatch
from support.wire import Closed, ServerError

pytestmark = pytest.mark.needs_proxy

PASSWORD = secret("for-the-impostor-alone")
ESCAPES = b"\x1b[2J\x1b]0;pwned\x07 call five-five-five"


@pytest.fixture
def proxy_of(postgres, new_proxy):
    """A proxy with PostgreSQL as ever, and the impostor as database `fake`."""

    def make(impostor, conninfo=""):
        fake = {
            "conninfo": f"host=127.0.0.1 port={impostor.port} password={PASSWORD} {conninfo}",
            "pool_size": 2,
            "pool_wait": "1s",
            "connect_timeout": "1s",
        }
        return new_proxy(postgres, {"databases": {"fake": fake}})

    return make


def refusal(proxy, connect, **params):
    """The fields of the FATAL that a login at the impostor ends with."""
    with pytest.raises((ServerError, Closed)) as caught:
        connect(proxy, database="fake", **params)
    return caught.value.fields if isinstance(caught.value, ServerError) else {}


def assert_unharmed(proxy, connect):
    assert connect(proxy, database=DATABASE).value("select 42") == "42"
    assert findings(proxy.raw_log()) == []


def test_cve_2024_10977_words_before_tls_are_not_told(proxy_of, connect):
    """libpq once showed its user whatever was sent in the place of the answer to SSLRequest: whoever
    stands in the middle could speak in the server's name."""

    def talk(sock):
        read_startup(sock)
        sock.sendall(message("E", b"SFATAL\0VFATAL\0C28000\0M" + ESCAPES + b"\0\0"))

    with Impostor(talk) as impostor:
        proxy = proxy_of(impostor, "sslmode=require")
        fields = refusal(proxy, connect)
        assert not [text for text in fields.values() if "five-five-five" in text or "\x1b" in text], fields
        assert "five-five-five" not in proxy.log()
        assert_unharmed(proxy, connect)


def test_cve_2021_23222_bytes_behind_the_servers_s_are_not_parsed(proxy_of, connect):
    """The client half of the stuffed bytes: `S` with messages behind it in clear."""

    def talk(sock):
        read_startup(sock)
        sock.sendall(b"S" + message("E", b"SFATAL\0VFATAL\0C28000\0M" + ESCAPES + b"\0\0") + LOGIN)
        sock.recv(1)

    with Impostor(talk) as impostor:
        proxy = proxy_of(impostor, "sslmode=require")
        fields = refusal(proxy, connect)
        assert not [text for text in fields.values() if "five-five-five" in text], fields
        assert_unharmed(proxy, connect)


@pytest.mark.parametrize(
    "first",
    [
        lambda nonce: b"r=" + nonce + b"x" * 100_000 + b",s=c2FsdA==,i=4096",
        lambda nonce: b"r=" + nonce + b"x,s=" + b"c2Fs" * 25_000 + b",i=4096",
        lambda nonce: b"r=" + nonce + b"x,s=,i=4096",
        lambda nonce: b"r=" + nonce + b"x,s=!!!!,i=4096",
        lambda nonce: b"r=" + nonce + b"x,s=c2FsdA==,i=-1",
        lambda nonce: b"r=" + nonce + b"x,s=c2FsdA==,i=0",
        lambda nonce: b"r=other,s=c2FsdA==,i=4096",
        lambda nonce: b"",
    ],
    ids=["nonce", "salt", "no_salt", "bad_salt", "negative", "zero", "other_nonce", "empty"],
)
def test_cve_2026_6665_scram_of_any_length_is_an_error(proxy_of, connect, first):
    """A long nonce from the server overran a buffer where the client's last message was built."""
    with Impostor(scram(first)) as impostor:
        proxy = proxy_of(impostor)
        with Stopwatch() as watch:
            refusal(proxy, connect)
        assert watch.seconds < 5 * PATIENCE
        assert_unharmed(proxy, connect)


BARE_ERRORS = [b"\0", b"SERROR\0\0", b"MText\0\0", b"C\0\0", b"CXX\0M\0\0", b"", b"S", b"C28000"]


@pytest.mark.parametrize("when", ["at once", "after authentication", "after the login", "later"])
def test_cve_2026_6666_an_error_without_its_fields_is_an_error(proxy_of, connect, when):
    """An ErrorResponse without a SQLSTATE was read through a null pointer."""
    current = [b""]

    def talk(sock):
        read_startup(sock)
        error = message("E", current[0])
        if when == "at once":
            sock.sendall(error)
        elif when == "after authentication":
            sock.sendall(OK + error)
        elif when == "after the login":
            sock.sendall(LOGIN + error)
        else:
            sock.sendall(LOGIN)
            read_message(sock)
            sock.sendall(error + message("Z", b"I"))
        sock.recv(1)

    with Impostor(talk) as impostor:
        proxy = proxy_of(impostor)
        for current[0] in BARE_ERRORS:
            try:
                session = connect(proxy, database="fake")
                session.send(Q("select 1"))
                session.until("Z", within=0.5)
            except (ServerError, Closed, TimeoutError, OSError):
                pass
        assert_unharmed(proxy, connect)


def test_cve_2026_42198_a_server_cannot_ask_for_endless_hashing(proxy_of, connect):
    """2,000,000,000 rounds of a hash take a core for the better part of an hour. Sessions and the
    connects of other databases go on, and the program ends when it is told to."""
    first = scram(lambda nonce: b"r=" + nonce + b"x,s=c2FsdA==,i=2000000000")
    with Impostor(first) as impostor:
        proxy = proxy_of(impostor)
        busy = connect(proxy)
        with Stopwatch() as watch:
            refusal(proxy, connect)
        assert watch.seconds < 10 * PATIENCE
        assert busy.value("select 42") == "42"
        assert proxy.get("/healthz")[0] == 200
        # With parameters of its own it needs a backend of its own.
        fresh = connect(proxy, DateStyle="German")
        assert fresh.value("select 42") == "42"
        proxy.stop()
