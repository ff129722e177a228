"""Logins by certificate, and passwords bound to the TLS connection: as many are let in as PostgreSQL
itself lets in, and who is not hears its words."""

import pytest

from support.postgres import DATABASE
from support.tls import TlsAddress, client_context, door, psql, serve_tls
from support.wire import ServerError, Session

pytestmark = pytest.mark.needs_proxy

FIELDS = "SCM"
TOLD = "password='told to nobody'"


@pytest.fixture(scope="module")
def identities(authority):
    return {name: authority.issue(name) for name in ("localhost", "alice", "bob", "app-alice")}


@pytest.fixture(scope="module")
def secure_postgres(own_postgres, authority, identities):
    """PostgreSQL with TLS, which asks everybody for a certificate."""
    serve_tls(
        own_postgres,
        authority.root,
        identities["localhost"],
        "local all all trust\nhostssl all all 127.0.0.1/32 cert map=apps\n",
        "apps alice alice\napps /^app-(.*)$ \\1\n",
    )
    return own_postgres


@pytest.fixture(scope="module")
def proxy(module_proxy, secure_postgres, authority, identities, tmp_path_factory):
    names = tmp_path_factory.mktemp("map") / "map.txt"
    names.write_text('"alice" "alice"\n"/^app-(.*)$" "\\1"\n')
    return module_proxy(
        secure_postgres,
        {
            "databases": {"*": {"conninfo": f"host={secure_postgres.directory}"
                                            f" port={secure_postgres.port}"}},
        },
        door_auth={"method": "cert", "user_map": str(names)},
        tls=door(identities["localhost"], client_ca=str(authority.root)),
    )


def outcome(server, root, identity, user):
    """What a login is told: the session's word, or the fields of the FATAL that say what it is."""
    address = TlsAddress(server.address, client_context(root, identity=identity))
    try:
        session = Session(address, {"user": user, "database": DATABASE})
    except ServerError as refused:
        return tuple(refused.fields.get(field) for field in FIELDS)
    who = session.value("select current_user")
    session.terminate()
    return who


@pytest.mark.parametrize(
    "shown, user, expected",
    [
        ("alice", "alice", "alice"),
        ("app-alice", "alice", "alice"),
        ("bob", "alice", "28000"),
        ("alice", "bob", "28000"),
        ("app-alice", "bob", "28000"),
        (None, "alice", "28000"),
        ("alice", "nobody_there", "28000"),
    ],
)
def test_a_certificate_lets_in_whom_postgresql_lets_in(
    proxy, secure_postgres, authority, identities, shown, user, expected
):
    identity = identities[shown] if shown else None
    mine = outcome(proxy, authority.root, identity, user)
    assert mine == outcome(secure_postgres, authority.root, identity, user)
    assert expected in (mine, mine[1])


def test_without_tls_nobody_is_let_in(proxy):
    with pytest.raises(ServerError) as refused:
        Session(proxy.address, {"user": "alice", "database": DATABASE})
    assert refused.value.fields["C"] == "28000"
    assert proxy.running() == 0


@pytest.fixture(scope="module")
def bound(module_proxy, postgres, identities, tmp_path_factory):
    users = tmp_path_factory.mktemp("users") / "users.txt"
    users.write_text('"alice" "told to nobody"\n')
    return module_proxy(
        postgres,
        {"auth": {"method": "scram-sha-256", "users_file": str(users)}},
        tls=door(identities["localhost"], "allow"),
    )


def test_a_password_is_bound_to_the_tls_connection(bound, authority):
    tls = ["sslmode=verify-full", f"sslrootcert={authority.root}"]
    done = psql(bound, TOLD, "channel_binding=require", *tls)
    assert (done.stdout.strip(), done.returncode) == ("42", 0), done.stderr
    done = psql(bound, TOLD, "channel_binding=disable", *tls)
    assert done.stdout.strip() == "42", done.stderr
    done = psql(bound, "password=another", "channel_binding=require", *tls)
    assert 'password authentication failed for user "alice"' in done.stderr
    # Nothing to bind it to: the client itself does not go on.
    done = psql(bound, TOLD, "channel_binding=require", "sslmode=disable")
    assert "channel binding" in done.stderr
