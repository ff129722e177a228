"""`peer`: who is at the other end of a Unix socket, by the operating system's word."""

import os
import pwd

import pytest

from support.messages import startup
from support.postgres import DATABASE
from support.scram import OK, Login, log_in
from support.waiting import until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres, tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "users.map"
    path.write_text(f'"{ME}" "alice"\n"/^(.)" "\\1o\\1"\n')
    proxy = module_proxy(postgres)
    budgets = {
        **proxy.budgets,
        "listen": [
            {"name": "app", "address": "127.0.0.1", "port": proxy.port},
            {
                "name": "local",
                "unix_socket_dir": str(proxy.directory),
                "port": proxy.port,
                "auth": {"method": "peer", "user_map": str(path)},
            },
        ],
    }
    proxy.rewrite(budgets)
    proxy.map = path
    return proxy


def outcome(proxy, user):
    session, result = log_in(proxy.unix_address, user, "", DATABASE)
    if session is not None:
        assert session.value("select session_user") == user
        session.close()
    return result


def test_a_client_is_whom_the_map_says_and_nobody_else(proxy):
    assert outcome(proxy, "alice") == OK
    for user in ("bob", "postgres", "nobody_at_all"):
        assert outcome(proxy, user) == ("28000", f'Peer authentication failed for user "{user}"')


def test_a_map_that_changes_counts_at_once_and_one_with_mistakes_not_at_all(proxy):
    proxy.map.write_text(f'"{ME}" "bob"\n')
    until(lambda: outcome(proxy, "bob") == OK, what="the new map counts")
    assert outcome(proxy, "alice")[0] == "28000"
    proxy.map.write_text('"/(" "alice"\n')
    until(lambda: "user_map_mistake" in proxy.log(), what="the mistake is told")
    assert outcome(proxy, "bob") == OK


def test_what_a_client_sends_too_early_waits_for_the_name(proxy):
    proxy.map.write_text(f'"{ME}" "bob"\n')
    until(lambda: outcome(proxy, "bob") == OK, what="bob is let in")
    session = Session(proxy.unix_address)
    session.send(startup({"user": "bob", "database": DATABASE}), b"Q\0\0\0\x0dselect 1\0")
    assert Login(session, "").run() == OK
    kinds = "".join(msg.kind for msg in session.until("Z"))
    assert kinds == "TDCZ"
    session.close()
