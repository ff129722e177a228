"""The first packets: what is granted, what is refused, and what lies about its length."""

import os
import struct

import pytest

from support.messages import (
    GSSENC_REQUEST,
    Q,
    SSL_REQUEST,
    cancel_request,
    message,
    startup,
    version,
)
from support.oracle import END, FIN, Z, case, compare, quiet
from support.postgres import DATABASE
from support.waiting import until
from support.wire import Closed, ServerError, Session

needs_proxy = pytest.mark.needs_proxy

ALICE = {"user": "alice", "database": DATABASE, "application_name": "oracle"}


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


def hello(**params):
    return startup({**ALICE, **params})


def shows(name, *names, **params):
    """A login with parameters, and what `show` says of some settings then."""
    steps = [step for shown in names for step in (Q(f"show {shown}"), Z)]
    return case(name, hello(**params), Z, *steps, raw=True)


def refused(name, packet):
    return case(name, packet, END, raw=True, ends="closed", ignores="R")


GRANTED = [
    shows("a plain login"),
    shows("an application name", "application_name", application_name="my app"),
    shows("an encoding", "client_encoding", client_encoding="LATIN1"),
    shows("an encoding in quotes and lower case", "client_encoding", client_encoding="'utf-8'"),
    shows("a date style", "datestyle", DateStyle="SQL, DMY"),
    shows("a time zone", "timezone", TimeZone="Asia/Tokyo"),
    shows("a search path", "search_path", search_path='"$user", public, pg_catalog'),
    shows("a statement timeout", "statement_timeout", statement_timeout="12345"),
    shows("extra float digits", "extra_float_digits", extra_float_digits="2"),
    shows("a custom setting", "my.setting", **{"my.setting": 'it\'s \\ "quoted"'}),
    shows("an empty application name", "application_name", application_name=""),
    shows("an option", "work_mem", options="-c work_mem=2MB"),
    shows("an option without a blank", "work_mem", options="-cwork_mem=2MB"),
    shows("a long option", "work_mem", options="--work_mem=2MB"),
    shows("a long option with a dash", "work_mem", options="--work-mem=2MB"),
    shows(
        "several options",
        "work_mem",
        "statement_timeout",
        options="  -c work_mem=2MB   -c statement_timeout=7s ",
    ),
    shows(
        "an escaped blank",
        "application_name",
        options=r"-c application_name=foo\ bar",
        application_name="x",
    ),
    shows("an escaped backslash", "my.setting", options=r"-c my.setting=a\\b\'c"),
    shows("a plus sign", "my.setting", options="-c my.setting=a+b"),
    shows("a parameter against an option", "work_mem", options="-c work_mem=2MB", work_mem="3MB"),
    case(
        "a user without a database",
        startup({"user": "postgres", "application_name": "oracle"}),
        Z,
        raw=True,
    ),
    case(
        "a parameter twice",
        startup([*ALICE.items(), ("work_mem", "2MB"), ("work_mem", "3MB")]),
        Z,
        Q("show work_mem"),
        Z,
        raw=True,
    ),
    case(
        "the packet in three pieces with pauses",
        hello()[:3],
        quiet(0.05),
        hello()[3:20],
        quiet(0.05),
        hello()[20:],
        Z,
        raw=True,
    ),
    case("the first query in the same write", hello() + Q("select 1 + 0"), Z, Z, raw=True),
    case(
        "a login and a terminate in one write", hello() + message("X"), END, raw=True, ends="closed"
    ),
]

REFUSED = [
    refused("an unknown database", hello(database="nope")),
    refused("an unknown user", hello(user="nobody")),
    refused("a database with the user's name that does not exist", startup({"user": "alice"})),
    refused("an unknown parameter", hello(nonsense="1")),
    refused("an unknown option", hello(options="-c nonsense=1")),
    refused("an option that is none", hello(options="nonsense")),
    refused("a bad value", hello(work_mem="lots")),
    refused("a bad value in an option", hello(options="-c work_mem=lots")),
    refused("an unknown encoding", hello(client_encoding="klingon")),
    refused("an unknown time zone", hello(TimeZone="No/Where")),
    refused("a setting for superusers", hello(log_statement="none")),
    refused("a setting of the postmaster", hello(max_connections="5")),
    refused("no user", startup({"database": DATABASE})),
    refused("an empty user", hello(user="")),
    refused("no parameter at all", startup({})),
    refused("a user without the right host rule", hello(user="banned")),
    refused("a user without connections", hello(user="lonely")),
    refused("a missing terminator", struct.pack("!ii", 8 + 11, version(3, 0)) + b"user\0alice\0"),
    refused(
        "bytes behind the terminator",
        struct.pack("!ii", 8 + 16, version(3, 0)) + b"user\0alice\0\0junk",
    ),
]

LENGTHS = [
    refused(f"a length of {length}", struct.pack("!i", length) + b"\0\3\0\0user\0alice\0\0")
    for length in (0, 3, 4, 7, -1, -(2**31), 10_005, 10_000_000, 2**31 - 1)
]

EARLY = [
    refused("a query as the first message", Q("select 1 + 0")),
    refused("a password as the first message", message("p", b"secret\0")),
    refused("a Sync as the first message", message("S")),
    refused("zeros", bytes(64)),
    case("nothing at all", FIN, raw=True, ends="closed"),
    case("three bytes", b"\0\0\0", FIN, raw=True, ends="closed"),
    case("half a packet", hello()[:20], FIN, raw=True, ends="closed"),
]


@pytest.mark.parametrize("made", GRANTED + REFUSED + LENGTHS + EARLY)
def test_the_first_packets_are_answered_as_by_postgresql(postgres, proxy, made):
    compare(postgres, proxy, made)


def greetings(*addresses, packet):
    """What each address answers to the packet, until ReadyForQuery or the end."""
    answers = []
    for address in addresses:
        session = Session(address)
        session.send(packet)
        answers.append(session.until("ZE"))
        session.terminate()
    return answers


def negotiated(got):
    """(minor, names) of the only NegotiateProtocolVersion, or None."""
    found = [msg for msg in got if msg.kind == "v"]
    assert len(found) <= 1
    if not found:
        return None
    newest, count = struct.unpack("!ii", found[0].body[:8])
    names = found[0].body[8:].split(b"\0")[:-1]
    assert count == len(names)
    return newest & 0xFFFF, names


@pytest.mark.parametrize(
    "minor, names",
    [
        (0, ["_pq_.foo"]),
        (0, ["_pq_.foo", "_pq_.bar"]),
        (2, ["_pq_.foo"]),
        (9999, []),
        (9999, ["_pq_.test_protocol_negotiation"]),
        (65535, []),
    ],
)
def test_a_newer_version_and_unknown_protocol_options_are_negotiated_once(
    postgres, proxy, minor, names
):
    packet = startup([*ALICE.items(), *((name, "on") for name in names)], version(3, minor))
    expected, got = (
        negotiated(answer) for answer in greetings(postgres.address, proxy.address, packet=packet)
    )
    assert got is not None and got[1] == expected[1] == [name.encode() for name in names]
    assert got[0] in (0, 2) and got[0] <= minor


def test_version_3_2_is_granted_or_negotiated_and_has_a_key_of_its_length(proxy, connect):
    session = connect(proxy, protocol=version(3, 2))
    offer = negotiated(session.greeting)
    assert offer in (None, (0, []))
    assert len(session.key) == 4 if offer else 4 <= len(session.key) <= 256
    assert session.value("select 42") == "42"


def test_a_3_0_client_gets_a_key_of_four_bytes(proxy, connect):
    assert len(connect(proxy).key) == 4


@pytest.mark.parametrize("major", [1, 2, 4, 1234])
def test_an_unknown_major_version_is_refused_in_words_and_closed(proxy, connect, major):
    """Before version 3 PostgreSQL answers in the old format, which no client of today reads as a
    message."""
    session = connect(proxy, login=False)
    session.send(startup(ALICE, version(major, 0)))
    answer = session.raw(1 << 16)
    assert answer[:1] == b"E" and f"unsupported frontend protocol {major}.0".encode() in answer
    assert major < 3 or b"C0A000\0" in answer


# A PostgreSQL that was built with GSSAPI grants it; the proxy does not.
GSSENC = pytest.param(GSSENC_REQUEST, id="GSSENCRequest", marks=needs_proxy)
SSL = pytest.param(SSL_REQUEST, id="SSLRequest")


@pytest.mark.parametrize(
    "requests",
    [
        [SSL_REQUEST],
        pytest.param([GSSENC_REQUEST], marks=needs_proxy),
        pytest.param([SSL_REQUEST, GSSENC_REQUEST], marks=needs_proxy),
        pytest.param([GSSENC_REQUEST, SSL_REQUEST], marks=needs_proxy),
    ],
    ids=["ssl", "gss", "ssl then gss", "gss then ssl"],
)
def test_encryption_requests_are_answered_no_and_the_login_goes_on(proxy, connect, requests):
    session = connect(proxy, login=False)
    for request in requests:
        session.send(request[:4])
        assert session.quiet(0.02) is None
        session.send(request[4:])
        assert session.raw(1) == b"N"
    session.log_in(ALICE)
    assert session.value("select 42") == "42"


@pytest.mark.parametrize("request_", [SSL, GSSENC])
def test_bytes_behind_an_encryption_request_are_never_executed(postgres, proxy, connect, request_):
    session = connect(proxy, login=False)
    marker, since = f"stuffed-{request_[-1]}", postgres.log_end()
    session.send(request_ + hello() + Q(f"select '{marker}'"))
    assert session.raw(1) in (b"N", b"")
    got = session.drain()
    assert [msg.fields()["C"] for msg in got] in ([], ["08P01"])
    assert not postgres.has_seen(marker, since)


@pytest.mark.parametrize("request_", [SSL, GSSENC])
def test_a_second_encryption_request_of_a_kind_is_fatal(proxy, connect, request_):
    session = connect(proxy, login=False)
    session.send(request_)
    assert session.raw(1) == b"N"
    session.send(request_)
    assert [msg.fields()["C"] for msg in session.drain()] == ["0A000"]


@needs_proxy
@pytest.mark.parametrize("what", ["true", "database"])
def test_a_replication_connection_is_refused_with_a_clear_error(proxy, connect, what):
    with pytest.raises(ServerError) as caught:
        connect(proxy, user="postgres", replication=what)
    assert caught.value.fields["S"] == "FATAL" and "replication" in caught.value.fields["M"]


@pytest.mark.parametrize("length", [63, 64, 1000, 9000])
@pytest.mark.parametrize("what", ["user", "database"])
def test_a_name_that_is_too_long_is_refused_and_harms_nobody(proxy, connect, what, length):
    with pytest.raises((ServerError, Closed)):
        connect(proxy, **{what: "n" * length})
    assert connect(proxy).value("select 42") == "42"


def test_a_name_of_control_bytes_is_refused_and_logged_as_one_line(proxy, connect):
    name = bytes(range(1, 256)).decode("latin-1")
    with pytest.raises((ServerError, Closed)):
        connect(proxy, database=name)
    with pytest.raises((ServerError, Closed)):
        connect(proxy, user=name)
    assert not [char for char in proxy.log() if ord(char) < 32 and char != "\n"]


def test_hostile_first_packets_cost_nothing(proxy, connect):
    """A thousand of each length that lies, then an ordinary login."""
    for length in (0, 3, 4, 7, -1, 10_005, 2**31 - 1):
        for _ in range(150):
            session = Session(proxy.address)
            session.send(struct.pack("!i", length) + os.urandom(12))
            session.close()
    assert connect(proxy).value("select 42") == "42"


def test_a_login_over_the_unix_socket_answers_as_over_tcp(proxy, connect):
    tcp, unix = connect(proxy), connect(proxy, address=proxy.unix_address)
    assert unix.parameters == tcp.parameters
    assert unix.value("select current_user") == "alice"


def test_the_greetings_of_two_users_tell_their_own_names(proxy, connect):
    for user in ("alice", "bob", "alice"):
        assert connect(proxy, user=user).parameters["session_authorization"] == user
    assert connect(proxy, user="postgres").parameters["is_superuser"] == "on"
    assert connect(proxy, user="alice").parameters["is_superuser"] == "off"


def test_a_second_login_with_the_same_parameters_has_the_same_greeting(proxy, connect):
    first, second = (connect(proxy, DateStyle="German", application_name="twin") for _ in range(2))
    assert first.parameters == second.parameters
    assert first.value("show datestyle") == second.value("show datestyle") == "German, DMY"


def test_a_cancel_request_of_a_wrong_length_is_closed_silently(proxy, connect):
    for key in (b"", b"\1", b"k" * 5, b"k" * 300):
        session = connect(proxy, login=False)
        session.send(cancel_request(1, key))
        assert session.raw(1) == b""


@needs_proxy
def test_clients_beyond_max_clients_get_fatal_53300(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"limits": {"max_clients": 2}})
    first, _ = connect(proxy), connect(proxy)
    with pytest.raises(ServerError) as caught:
        connect(proxy)
    assert (caught.value.fields["S"], caught.value.fields["C"]) == ("FATAL", "53300")
    assert proxy.get("/healthz")[0] == 200
    first.terminate()
    assert until(lambda: _try_login(proxy, connect), what="a place is free again") == "42"


def _try_login(proxy, connect):
    try:
        return connect(proxy).value("select 42")
    except ServerError:
        return None


@needs_proxy
def test_connections_beyond_max_startup_get_fatal_53300(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"limits": {"max_startup": 2}})
    until(
        lambda: proxy.metrics().sum("pgbulkhead_startup_sessions") == 0,
        what="the probe's connection has gone",
    )
    silent = [connect(proxy, login=False) for _ in range(2)]
    until(
        lambda: proxy.metrics().sum("pgbulkhead_startup_sessions") == 2,
        what="two sessions in their startup",
    )
    third = connect(proxy, login=False)
    third.send(hello())
    assert [msg.fields()["C"] for msg in third.drain()] == ["53300"]
    silent[0].close()
    assert until(lambda: _try_login(proxy, connect), what="a place is free again") == "42"


@needs_proxy
@pytest.mark.parametrize(
    "sent", [b"", b"\0\0", hello()[:20], SSL_REQUEST], ids=["nothing", "two", "half", "ssl"]
)
def test_a_client_that_does_not_log_in_in_time_is_closed(postgres, new_proxy, connect, sent):
    proxy = new_proxy(postgres, {"auth": {"timeout": "300ms"}})
    session = connect(proxy, login=False)
    session.send(sent)
    if sent == SSL_REQUEST:
        assert session.raw(1) == b"N"
    assert [msg.kind for msg in session.drain(within=2)] in ([], ["E"])
    assert connect(proxy).value("select 42") == "42"


def test_probes_that_open_and_close_a_connection_are_no_news(proxy, connect):
    before = proxy.log()
    for sent in (b"", b"\0\0\0"):
        session = connect(proxy, login=False)
        session.send(sent)
        session.close()
    connect(proxy).query("select 1 + 0")
    fresh = proxy.log()[len(before) :]
    assert "level=warn" not in fresh and "level=error" not in fresh
