"""Real drivers log in by every method, over every mode of TLS, with good and bad passwords: as many are let in as
PostgreSQL itself lets in, and who is not hears the same.

PostgreSQL has one database for each mode of TLS of the proxy's doors: by `open` TLS is taken and not asked for, by
`sealed` nothing goes without it. A server without TLS is the measure of doors without it.
"""

import os
import pwd
import subprocess

import pytest

from support import postgres as postgres_module
from support.login_drivers import ACCEPTED, Place, by_jdbc, by_node, by_psql, by_psycopg
from support.tls import door, serve_tls
from support.waiting import free_port

pytestmark = pytest.mark.needs_proxy

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
ME = pwd.getpwuid(os.getuid()).pw_name
PASSWORDS = {
    "keyed": "a usual one: \" \\ '",
    "keyed_long": "x" * 1024,
    "keyed_longest": "y" * 60_000,
    "keyed_abroad": "\u00e9\u00df\u65e5\u672c",
    "keyed_expired": "was good once",
    "in_the_clear": "as passthrough asks for it",
}
DATABASES = {"disable": "open", "allow": "open", "require": "sealed"}
METHODS = ("scram-sha-256", "passthrough", "trust", "cert", "peer")

HBA = """
local all +peered peer map=me
local all unknown_peered peer map=me
local all +keyed_ones,unknown_keyed scram-sha-256
local all all trust
host    open,not_open     in_the_clear              127.0.0.1/32 password
hostssl sealed,not_sealed in_the_clear              127.0.0.1/32 password
host    open,not_open     +keyed_ones,unknown_keyed 127.0.0.1/32 scram-sha-256
hostssl sealed,not_sealed +keyed_ones,unknown_keyed 127.0.0.1/32 scram-sha-256
host    open,not_open     trusted,unknown_trusted   127.0.0.1/32 trust
hostssl sealed,not_sealed trusted,unknown_trusted   127.0.0.1/32 trust
hostssl all               all                       127.0.0.1/32 cert
"""
IDENT = f"me {ME} peered_one\nme {ME} unknown_peered\n"


def add_roles(server):
    server.sql("create database open")
    server.sql("create database sealed")
    server.sql("create role keyed_ones; create role peered")
    for user, password in PASSWORDS.items():
        text = password.replace("'", "''")
        until = "valid until 'yesterday'" if user == "keyed_expired" else ""
        server.sql(f"create role {user} login in role keyed_ones password '{text}' {until}")
    server.sql("create role trusted login; create role certified login; create role other login")
    server.sql("create role peered_one login in role peered; create role peered_two login in role peered")


@pytest.fixture(scope="module")
def servers(own_postgres, authority, identity):
    """By the mode of TLS of a door: what it is measured by."""
    add_roles(own_postgres)
    serve_tls(own_postgres, authority.root, identity, HBA, IDENT)
    plain = postgres_module.Postgres()
    add_roles(plain)
    plain.replace_hba(HBA, IDENT)
    yield {"allow": own_postgres, "require": own_postgres, "disable": plain}
    plain.remove()


@pytest.fixture(scope="module")
def ports(module_proxy, servers, authority, identity, tmp_path_factory):
    """A proxy with a door for each method and mode of TLS; (host, port) by both."""
    folder = tmp_path_factory.mktemp("doors")
    users, names = folder / "users.txt", folder / "names.map"
    doubled = {user: password.replace('"', '""') for user, password in PASSWORDS.items()}
    users.write_text("".join(f'"{user}" "{text}"\n' for user, text in doubled.items()))
    names.write_text(f'"{ME}" "peered_one"\n"{ME}" "unknown_peered"\n')
    wishes = {"scram-sha-256": {"users_file": str(users)}, "peer": {"user_map": str(names)}}
    ports, listen = {}, []
    for method in METHODS:
        auth = {"method": method, **wishes.get(method, {})}
        if method == "peer":
            place = {"unix_socket_dir": str(folder), "port": free_port()}
            ports[method, "disable"] = (str(folder), place["port"])
            listen.append({"name": method, "auth": auth, **place})
            continue
        for mode in ("disable", "allow", "require"):
            if (method, mode) == ("cert", "disable"):
                continue
            place = {"address": "127.0.0.1", "port": free_port()}
            tls = {"mode": mode}
            if mode != "disable":
                tls = door(identity, mode, client_ca=str(authority.root))
            ports[method, mode] = ("localhost", place["port"])
            listen.append({"name": f"{method}-{mode}", "auth": auth, "tls": tls, **place})
    server = servers["allow"]
    conninfo = f"host={server.directory} port={server.port}"
    proxy = module_proxy(server, {"databases": {"*": {"conninfo": conninfo}}}, start=False)
    proxy.budgets["listen"] += listen
    proxy.rewrite(proxy.budgets)
    return ports


@pytest.fixture(scope="module")
def identities(authority):
    """Client certificates, with keys also in the form that Java takes."""
    issued = {}
    for name in ("certified", "other", "unknown_certified"):
        certificate, key = authority.issue(name)
        form = key.with_suffix(".pk8")
        subprocess.run(
            ["openssl", "pkcs8", "-topk8", "-inform", "PEM", "-outform", "DER", "-nocrypt"]
            + ["-in", str(key), "-out", str(form)],
            check=True,
        )
        issued[name] = (str(certificate), str(key), str(form))
    return issued


def attempts(method, database):
    """(database, user, password, whose certificate): good and bad ones."""
    if method in ("scram-sha-256", "passthrough"):
        asked = [user for user in PASSWORDS if user != "in_the_clear" or method == "passthrough"]
        yield from ((database, user, PASSWORDS[user], "") for user in asked)
        yield from ((database, user, "another", "") for user in asked)
        # The driver itself does not like it, and says so of the way in which it was asked.
        yield (database, asked[-1] if method == "passthrough" else "keyed", "", "")
        yield (database, "keyed", PASSWORDS["keyed_longest"], "")
        yield (database, "unknown_keyed", "whatever", "")
        yield (f"not_{database}", "keyed", PASSWORDS["keyed"], "")
        yield (f"not_{database}", "keyed", "another", "")
    elif method == "trust":
        yield (database, "trusted", "whatever", "")
        yield (database, "unknown_trusted", "", "")
        yield (f"not_{database}", "trusted", "", "")
    elif method == "peer":
        yield (database, "peered_one", "", "")
        yield (database, "peered_two", "", "")
        yield (database, "unknown_peered", "", "")
        yield (f"not_{database}", "peered_one", "", "")
    else:
        yield (database, "certified", "", "certified")
        yield (database, "certified", "", "other")
        yield (database, "certified", "", "")
        yield (database, "unknown_certified", "", "unknown_certified")
        yield (f"not_{database}", "certified", "", "certified")


def places(where, method, mode, sslmode, authority, identities, java):
    host, port = where
    root = str(authority.root) if sslmode == "verify-full" else ""
    for database, user, password, shown in attempts(method, DATABASES[mode]):
        certificate, key, form = identities.get(shown, ("", "", ""))
        yield Place(
            *(host, port, database, user, password, sslmode, root),
            *(certificate, form if java else key),
        )


def measure(servers, method, mode):
    server = servers[mode]
    return (str(server.directory) if method == "peer" else "localhost", server.port)


def is_short(driver, method, mode, sslmode):
    """psql is libpq, which psycopg is, too, and starts anew each time; a JVM takes its time."""
    if driver is by_jdbc or (driver is by_psql and method != "scram-sha-256"):
        return False
    return (mode, sslmode) == ("allow", "verify-full") or method == "peer"


def is_tried(driver, method, mode, sslmode):
    if method == "peer" and (driver is by_jdbc or sslmode != "disable"):
        return False
    if driver is by_node and sslmode == "prefer":
        return False
    # After a refusal libpq tries without TLS what it prefers to have with it: two outcomes in one.
    if sslmode == "prefer" and method in ("trust", "cert"):
        return False
    return FULL or is_short(driver, method, mode, sslmode)


def lets_in(method, mode, sslmode):
    """Whether anybody gets in so."""
    by_tls = {"disable": False, "prefer": mode != "disable"}.get(sslmode, True)
    possible = not (by_tls and mode == "disable")
    return possible and (by_tls or (mode != "require" and method != "cert"))


@pytest.mark.parametrize("driver", [by_psycopg, by_psql, by_node, by_jdbc])
def test_a_driver_logs_in_and_is_refused_as_by_postgresql(servers, ports, authority, identities, driver):
    tried, mine, direct = [], [], []
    for (method, mode), where in ports.items():
        for sslmode in ("disable", "prefer", "require", "verify-full"):
            if is_tried(driver, method, mode, sslmode):
                more = (method, mode, sslmode, authority, identities, driver is by_jdbc)
                mine += places(where, *more)
                direct += places(measure(servers, method, mode), *more)
                tried += [(method, mode, sslmode)] * (len(mine) - len(tried))
    if not mine:
        pytest.skip("PGBULKHEAD_TEST_FULL=1 starts a JVM")
    told, expected = driver(mine), driver(direct)
    assert len(told) == len(expected) == len(mine)
    print(f"{len(mine)} logins, {expected.count(ACCEPTED)} let in, {len(set(map(str, expected)))} outcomes")
    different = [
        (*how, place.database, place.user, place.password[:8], outcome, reference)
        for how, place, outcome, reference in zip(tried, mine, told, expected)
        if outcome != reference
    ]
    assert different == []
    let_in = {how for how, outcome in zip(tried, told) if outcome == ACCEPTED}
    assert let_in == {how for how in tried if lets_in(*how)}
