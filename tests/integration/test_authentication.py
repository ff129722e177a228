"""Who is let in: by each method as many as PostgreSQL itself would let in, in the same words."""

import os
import threading

import psycopg2
import pytest

from support import scram
from support.messages import Q, message, startup
from support.postgres import DATABASE
from support.scram import OK, log_in
from support.waiting import until
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy

LONG, LONGEST = "x" * 1024, "y" * 60_000
# Role -> password. PostgreSQL keeps a verifier of each.
PASSWORDS = {
    "proven_short": "a",
    "proven_usual": "it's a \"secret\" \\ :@",
    "proven_long": LONG,
    "proven_longest": LONGEST,
    "proven_blank": "a\u00a0b\u00adc",
    "proven_accent": "e\u0301\u2168",
    "proven_raw": "x\u0221\u200e",
}
EXPIRED = "proven_expired"
WRONG = ["", "b", "it's a secret", LONG + "x", LONG[1:], LONGEST[1:] + "x", "\u00e9IX "]


def quoted(text):
    return text.replace("'", "''")


@pytest.fixture(scope="module")
def roles(postgres):
    for role, password in PASSWORDS.items():
        postgres.sql(f"create role {role} login in role proven password '{quoted(password)}'")
    postgres.sql(
        f"create role {EXPIRED} login in role proven password 'old' valid until 'yesterday'"
    )
    return postgres


def users_file(passwords):
    lines = []
    for user, password in passwords.items():
        doubled = password.replace('"', '""')
        lines.append(f'"{user}" "{doubled}"')
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def by_scram(module_proxy, roles, tmp_path_factory):
    """A door with a users file; backends log in with what stands there in the clear."""
    path = tmp_path_factory.mktemp("users") / "users.txt"
    path.write_text(users_file(PASSWORDS))
    proxy = module_proxy(roles, {"auth": {"method": "scram-sha-256", "users_file": str(path), "timeout": "60s"}})
    proxy.users_file = path
    return proxy


@pytest.fixture(scope="module")
def by_passthrough(module_proxy, roles):
    return module_proxy(roles, {"auth": {"method": "passthrough"}})


@pytest.fixture(params=["scram", "passthrough"])
def proxy(request):
    return request.getfixturevalue(f"by_{request.param}")


def outcome(server, user, password, database=DATABASE):
    session, result = log_in(server.address, user, password, database)
    if session is not None:
        assert session.value("select session_user") == user
        session.close()
    return result


# ---- as PostgreSQL


# This client hashes what it is given; a prepared password is a task for libpq.
@pytest.mark.parametrize("user", [u for u, word in PASSWORDS.items() if word.isascii()])
def test_who_knows_the_password_is_let_in(proxy, roles, user):
    assert outcome(roles, user, PASSWORDS[user]) == OK
    assert outcome(proxy, user, PASSWORDS[user]) == OK


@pytest.mark.parametrize("user", PASSWORDS)
def test_libpq_is_let_in_with_every_password(proxy, roles, user):
    for port in (roles.port, proxy.port):
        connection = psycopg2.connect(
            host="127.0.0.1", port=port, user=user, password=PASSWORDS[user], dbname=DATABASE
        )
        with connection.cursor() as cursor:
            cursor.execute("select session_user")
            assert cursor.fetchone() == (user,)
        connection.close()


@pytest.mark.parametrize("password", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("user", ["proven_usual", "proven_long", "nobody_at_all"])
def test_who_does_not_know_it_is_refused_as_by_postgresql(proxy, roles, user, password):
    expected = ("28P01", f'password authentication failed for user "{user}"')
    # The oracle asks an unknown user for no password: its rule is for members of a role.
    if user != "nobody_at_all":
        assert outcome(roles, user, password) == expected
    if password == "" and proxy.budgets["auth"]["method"] == "passthrough":
        # PostgreSQL's words where it asks for a password in the clear.
        expected = ("28P01", "empty password returned by client")
    if user == "nobody_at_all" and proxy.budgets["auth"]["method"] == "passthrough" and password:
        # This PostgreSQL trusts strangers, so it says that there is no such role.
        expected = ("28000", f'role "{user}" does not exist')
    assert outcome(proxy, user, password) == expected


def test_an_expired_password_is_refused_also_when_it_was_proved_before(by_passthrough, roles):
    assert outcome(by_passthrough, EXPIRED, "old") == outcome(roles, EXPIRED, "old")
    roles.sql(f"alter role {EXPIRED} valid until 'tomorrow'")
    assert outcome(by_passthrough, EXPIRED, "old") == OK
    roles.sql(f"alter role {EXPIRED} valid until 'yesterday'")
    refused = ("28P01", f'password authentication failed for user "{EXPIRED}"')
    assert outcome(by_passthrough, EXPIRED, "old") == refused


def test_an_unknown_database_is_told_after_the_password(proxy, roles):
    for password, code in (("wrong", "28P01"), (PASSWORDS["proven_short"], "3D000")):
        answers = [outcome(s, "proven_short", password, "no_such_db") for s in (roles, proxy)]
        assert answers[0] == answers[1]
        assert answers[1][0] == code


# ---- what is said before anybody is let in


def test_an_unknown_user_sees_the_same_exchange_as_a_known_one(by_scram):
    def exchange(user):
        session = Session(by_scram.address)
        session.send(startup({"user": user, "database": DATABASE}))
        said = [session.read().body]
        session.send(scram.initial("SCRAM-SHA-256", b"n,,n=,r=abc"))
        said.append(session.read().body)
        session.close()
        return said

    known, unknown, again = exchange("proven_usual"), exchange("stranger"), exchange("stranger")
    assert known[0] == unknown[0]
    parts = [dict(part.split(b"=", 1) for part in said[1][4:].split(b",")) for said in (known, unknown, again)]
    assert parts[0].keys() == parts[1].keys()
    assert parts[0][b"i"] == parts[1][b"i"]
    assert len(parts[0][b"s"]) == len(parts[1][b"s"])
    assert parts[1][b"s"] == parts[2][b"s"] != parts[0][b"s"]
    assert len({part[b"r"] for part in parts}) == 3


ODD = {
    "a query": Q("select 1"),
    "a flush": message("H"),
    "an unknown mechanism": scram.initial("SCRAM-SHA-1", b"n,,n=,r=abc"),
    "the bound mechanism without TLS": scram.initial("SCRAM-SHA-256-PLUS", b"n,,n=,r=abc"),
    "a flag that is none": scram.initial("SCRAM-SHA-256", b"x,,n=,r=abc"),
    "binding data": scram.initial("SCRAM-SHA-256", b"p=tls-server-end-point,,n=,r=abc"),
    "another identity": scram.initial("SCRAM-SHA-256", b"n,a=x,n=,r=abc"),
    "an extension": scram.initial("SCRAM-SHA-256", b"n,,m=x,n=,r=abc"),
    "a nonce with a blank": scram.initial("SCRAM-SHA-256", b"n,,n=,r=a bc"),
    "no response at all": message("p"),
    "a length that lies": b"p\x00\x00\x00\x02",
    "a length of a gigabyte": b"p\x40\x00\x00\x00",
    "a final message with another nonce": scram.initial("SCRAM-SHA-256", b"n,,n=,r=abc")
    + message("p", b"c=biws,r=xyz,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
    "a final message without a proof": scram.initial("SCRAM-SHA-256", b"n,,n=,r=abc")
    + message("p", b"c=biws,r=xyz"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_message_ends_a_login_as_it_does_at_postgresql(by_scram, roles, name):
    answers = []
    for server in (roles, by_scram):
        session = Session(server.address)
        session.send(startup({"user": "proven_usual", "database": DATABASE}))
        session.read()
        session.send(ODD[name])
        fields = next(m.fields() for m in iter(session.read, None) if m.kind == "E")
        answers.append([fields.get(key) for key in "SCMD"])
        session.close()
    assert answers[0] == answers[1]


def test_before_its_password_a_client_costs_no_backend_and_no_permit(by_passthrough, roles):
    sessions = []
    roles.sql("create role proven_unseen login in role proven password 'x'")
    for _ in range(5):
        session = Session(by_passthrough.address)
        session.send(startup({"user": "proven_unseen", "database": DATABASE}))
        assert session.read().kind == "R"
        sessions.append(session)
    assert roles.count("select count(*) from pg_stat_activity where usename = 'proven_unseen'") == 0
    for session in sessions:
        session.close()


# ---- what becomes of passwords


def test_the_login_that_proved_a_password_is_the_pools_first_backend(by_passthrough, roles):
    session, result = log_in(by_passthrough.address, "proven_short", "a", DATABASE)
    assert result == OK
    mine = "select count(*) from pg_stat_activity where usename = 'proven_short'"
    assert roles.count(mine) >= 1
    assert session.value("select session_user") == "proven_short"
    session.close()


def test_a_password_that_postgresql_never_asked_for_proves_nothing(by_passthrough):
    code, text = outcome(by_passthrough, "alice", "anything")
    assert (code, text) == ("28000", 'passthrough authentication failed for user "alice"')


def test_a_password_is_kept_for_its_time_and_then_proved_again(module_proxy, roles):
    roles.sql("create role proven_kept login in role proven password 'kept'")
    auth = {"method": "passthrough", "cache_lifetime": "1ms"}
    proxy = module_proxy(roles, {"auth": auth})
    mine = "from pg_stat_activity where usename = 'proven_kept'"
    session, result = log_in(proxy.address, "proven_kept", "kept", DATABASE)
    assert result == OK
    assert session.value("select 1") == "1"
    roles.sql(f"select pg_terminate_backend(pid) {mine}")
    until(lambda: roles.count(f"select count(*) {mine}") == 0, what="its backend has gone")
    with pytest.raises(ServerError) as caught:
        session.query("select 1")
    assert caught.value.fields["C"] == "28P01"
    other, result = log_in(proxy.address, "proven_kept", "kept", DATABASE)
    assert result == OK
    assert session.value("select 1") == other.value("select 1") == "1"
    other.close()
    session.close()


def test_a_changed_password_counts_from_the_next_login_on(by_passthrough, roles):
    roles.sql("create role proven_rotated login in role proven password 'first'")
    session, result = log_in(by_passthrough.address, "proven_rotated", "first", DATABASE)
    assert result == OK
    roles.sql("alter role proven_rotated password 'second'")
    assert outcome(by_passthrough, "proven_rotated", "first")[0] == "28P01"
    assert outcome(by_passthrough, "proven_rotated", "second") == OK
    # Who was let in stays.
    assert session.value("select 1") == "1"
    session.close()


def test_a_users_file_that_changes_counts_from_then_on(by_scram, roles):
    roles.sql("create role proven_moved login in role proven password 'first'")
    by_scram.users_file.write_text(users_file({**PASSWORDS, "proven_moved": "first"}))
    until(lambda: outcome(by_scram, "proven_moved", "first") == OK, what="the new user is let in")
    by_scram.users_file.write_text(users_file({**PASSWORDS, "proven_moved": "second"}))
    until(lambda: outcome(by_scram, "proven_moved", "first") != OK, what="the old one is refused")
    by_scram.users_file.write_text(users_file({**PASSWORDS}) + 'no users "file"\n')
    until(lambda: "users_file_mistake" in by_scram.log(), what="the fault is told")
    # What was in force stays so.
    session, result = log_in(by_scram.address, "proven_moved", "second", DATABASE)
    assert session is not None or result[0] == "28P01"
    assert outcome(by_scram, "proven_usual", PASSWORDS["proven_usual"]) == OK
    if session is not None:
        session.close()


def test_verifiers_let_in_and_backends_log_in_as_conninfo_says(module_proxy, roles, tmp_path):
    (verifier,) = roles.sql("select rolpassword from pg_authid where rolname = 'proven_usual'")[0]
    path = tmp_path / "users.txt"
    path.write_text(users_file({"proven_usual": verifier}))
    proxy = module_proxy(
        roles,
        {
            "auth": {"method": "scram-sha-256", "users_file": str(path)},
            "databases": {"*": {"conninfo": f"host=127.0.0.1 port={roles.port} user=bob"}},
        },
    )
    session, result = log_in(proxy.address, "proven_usual", PASSWORDS["proven_usual"], DATABASE)
    assert result == OK
    assert session.value("select session_user") == "bob"
    session.close()
    assert outcome_code(proxy, "proven_usual", "wrong") == "28P01"


def test_a_verifier_without_a_password_for_postgresql_is_told(module_proxy, roles, tmp_path):
    (verifier,) = roles.sql("select rolpassword from pg_authid where rolname = 'proven_usual'")[0]
    path = tmp_path / "users.txt"
    path.write_text(users_file({"proven_usual": verifier, "proven_short": "a"}))
    proxy = module_proxy(roles, {"auth": {"method": "scram-sha-256", "users_file": str(path)}})
    (told,) = [line for line in proxy.log().splitlines() if "user_without_password" in line]
    assert "proven_usual" in told and verifier not in told
    # PostgreSQL asks, and nobody has an answer.
    assert outcome(proxy, "proven_usual", PASSWORDS["proven_usual"])[0] == "28P01"
    # That is no reason to hold up anybody else.
    assert outcome(proxy, "proven_short", "a") == OK


def outcome_code(server, user, password):
    session, result = log_in(server.address, user, password, DATABASE)
    assert session is None
    return result[0]


def test_many_logins_at_once_leave_others_their_turn(by_scram):
    """All of them wait for hashing, as none was in this version of the file; a session that is
    there goes on at the same time, so that the loop does not hash."""
    session, result = log_in(by_scram.address, "proven_usual", PASSWORDS["proven_usual"], DATABASE)
    assert result == OK
    before = by_scram.log().count("users_file_reloaded")
    crowd = {f"guest{i}": f"password of {i}" for i in range(200)}
    by_scram.users_file.write_text(users_file({**PASSWORDS, **crowd}))
    until(lambda: by_scram.log().count("users_file_reloaded") > before, what="the file is read")
    outcomes, turns = [], 0

    def knock(user):
        outcomes.append(outcome_code(by_scram, user, "wrong"))

    threads = [threading.Thread(target=knock, args=(user,)) for user in crowd]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert session.value("select 1", within=20) == "1"
        turns += 1
    for thread in threads:
        thread.join()
    assert outcomes == ["28P01"] * len(crowd)
    assert turns > 0
    session.close()


def test_no_password_is_in_the_log(by_scram, by_passthrough):
    for proxy in (by_scram, by_passthrough):
        log = proxy.log()
        for password in ("secret", LONG[:200], LONGEST[:200], "password of", "SCRAM-SHA-256$"):
            assert password not in log


def test_a_users_file_with_mistakes_is_told_before_anything_is_served(roles, tmp_path):
    from support.proxy import Proxy, run

    path = tmp_path / "users.txt"
    path.write_text('"a" "md5' + "0" * 32 + '"\n"a" unquoted\n')
    proxy = Proxy(
        roles, {"auth": {"method": "scram-sha-256", "users_file": str(path)}}, start=False
    )
    done = run("run", "-c", proxy.file)
    assert done.returncode != 0
    assert "MD5 hashes are not taken" in done.stderr
    assert "line=2 column=5" in done.stderr
    checked = run("check", "-c", proxy.file)
    assert checked.returncode != 0
    assert checked.stderr.splitlines() == [
        f"{path}:1:5: PGB-CFG-060: MD5 hashes are not taken",
        f"{path}:2:5: PGB-CFG-060: a password or a SCRAM verifier in double quotes must stand here",
    ]
    proxy.remove()


def test_the_users_file_may_not_be_readable_for_lack_of_it(roles, tmp_path):
    from support.proxy import Proxy, run

    missing = tmp_path / "none.txt"
    assert not os.path.exists(missing)
    proxy = Proxy(
        roles, {"auth": {"method": "scram-sha-256", "users_file": str(missing)}}, start=False
    )
    done = run("run", "-c", proxy.file)
    assert done.returncode != 0
    assert str(missing) in done.stderr
    proxy.remove()
