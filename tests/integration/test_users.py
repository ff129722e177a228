"""Users and backends: nobody works under another's name, and all share one number of backends."""

import threading

import pytest

from support.messages import Q
from support.waiting import until
from support.wire import ServerError

needs_proxy = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {"databases": {"*": {"pool_size": 2, "pool_wait": "10s"}}})


def backends(postgres, where="true"):
    return postgres.count(
        f"""select count(*) from pg_stat_activity where backend_type = 'client backend'
        and application_name <> 'admin' and {where}"""
    )


WHO = "select current_user || ' ' || session_user"


def test_each_session_works_under_its_own_name(proxy, connect):
    sessions = [(user, connect(proxy, user=user)) for user in ("alice", "bob", "postgres") * 2]
    for _ in range(5):
        for user, session in sessions:
            assert session.value(WHO) == f"{user} {user}"


def test_each_session_works_in_its_own_database(postgres, proxy, connect):
    sessions = [
        (name, connect(proxy, database=name)) for name in ("bulkhead", "postgres", "template1")
    ]
    for _ in range(5):
        for name, session in sessions:
            assert session.value("select current_database()") == name


def test_sessions_of_many_users_at_once_never_see_another_name(proxy, connect):
    wrong = []

    def work(user):
        session = connect(proxy, user=user)
        for _ in range(40):
            if session.value(WHO, within=20) != f"{user} {user}":
                wrong.append(user)

    threads = [
        threading.Thread(target=work, args=(user,)) for user in ("alice", "bob", "postgres") * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


@needs_proxy
def test_two_users_never_share_a_backend(proxy, connect):
    pids = {}
    for user in ("alice", "bob") * 4:
        pids.setdefault(user, set()).add(connect(proxy, user=user).value("select pg_backend_pid()"))
    assert not pids["alice"] & pids["bob"]


@needs_proxy
def test_an_idle_backend_of_another_user_is_closed_for_a_waiter(postgres, proxy, connect):
    swaps = proxy.metrics().sum("pgbulkhead_database_swaps_total")
    bob = connect(proxy, user="bob")
    first, second = connect(proxy), connect(proxy)
    first.query("begin")
    first.query("select 1 + 0")
    # The other place is the one that is set aside.
    second.query("select 1")
    first.query("commit")
    assert bob.value(WHO) == "bob bob"
    assert backends(postgres) <= 2
    assert proxy.metrics().sum("pgbulkhead_database_swaps_total") > swaps


@needs_proxy
def test_one_backend_serves_two_users_in_turn(postgres, new_proxy, connect):
    proxy = new_proxy(postgres, {"databases": {"*": {"pool_size": 1, "pool_wait": "10s"}}})
    since = postgres.value("select clock_timestamp()")
    alice, bob = connect(proxy), connect(proxy, user="bob")
    for _ in range(10):
        assert alice.value(WHO) == "alice alice"
        assert bob.value(WHO) == "bob bob"
    assert backends(postgres, f"backend_start > '{since}'") <= 1


@needs_proxy
def test_a_user_named_in_conninfo_is_everybodys(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {
                "*": {"conninfo": f"host=127.0.0.1 port={postgres.port} user=bob", "pool_size": 1}
            }
        },
    )
    pids = set()
    for user in ("alice", "postgres", "whoever"):
        session = connect(proxy, user=user)
        assert session.value(WHO) == "bob bob"
        pids.add(session.value("select pg_backend_pid()"))
    assert len(pids) == 1


@needs_proxy
def test_a_database_entry_serves_its_name_and_no_other(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "databases": {
                "shop": {
                    "conninfo": f"host=127.0.0.1 port={postgres.port} dbname=bulkhead",
                    "pool_size": 2,
                },
                "*": {"pool_size": 2},
            }
        },
    )
    assert connect(proxy, database="shop").value("select current_database()") == "bulkhead"
    assert connect(proxy, database="postgres").value("select current_database()") == "postgres"


@needs_proxy
def test_without_a_star_another_database_is_unknown(postgres, new_proxy, connect):
    proxy = new_proxy(postgres)
    budgets = dict(proxy.budgets, databases={"bulkhead": proxy.budgets["databases"]["*"]})
    proxy.rewrite(budgets)
    assert connect(proxy).value("select 42") == "42"
    with pytest.raises(ServerError) as caught:
        connect(proxy, database="postgres")
    assert (caught.value.fields["S"], caught.value.fields["C"]) == ("FATAL", "3D000")


@needs_proxy
@pytest.mark.parametrize(
    "match, params, expected",
    [
        ({"user": "ali*"}, {"user": "alice"}, "named"),
        ({"user": "ali*"}, {"user": "bob"}, "default"),
        ({"database": "bulk?ead"}, {}, "named"),
        ({"database": "shop"}, {}, "default"),
        ({"application_name": "job[0-9]"}, {"application_name": "job7"}, "named"),
        ({"application_name": "job[0-9]"}, {"application_name": "jobs"}, "default"),
        ({"user": "alice", "application_name": "x"}, {"application_name": "y"}, "default"),
        ({"user": "alice", "application_name": "x"}, {"application_name": "x"}, "named"),
        ({"listener": "app"}, {}, "named"),
        ({"listener": "local"}, {}, "default"),
    ],
)
def test_a_workload_is_chosen_by_what_the_session_is(
    postgres, new_proxy, connect, match, params, expected
):
    proxy = new_proxy(
        postgres,
        {
            "workloads": [
                {"name": "named", "match": match, "concurrency": 2},
                {"name": "default", "concurrency": 2},
            ]
        },
    )
    connect(proxy, **params).query("select 1 + 0")
    until(lambda: proxy.metrics().admitted(expected) == 1, what=f"admitted in {expected}")


@needs_proxy
def test_the_first_workload_that_matches_wins(postgres, new_proxy, connect):
    proxy = new_proxy(
        postgres,
        {
            "workloads": [
                {"name": "first", "match": {"user": "alice"}, "concurrency": 2},
                {"name": "second", "match": {"user": "*"}, "concurrency": 2},
                {"name": "default", "concurrency": 2},
            ]
        },
    )
    connect(proxy).query("select 1 + 0")
    connect(proxy, user="bob").query("select 1 + 0")
    metrics = proxy.metrics()
    assert [metrics.admitted(name) for name in ("first", "second", "default")] == [1, 1, 0]


@needs_proxy
@pytest.mark.parametrize(
    ("role", "text"),
    [("reborn_a", "select current_user"), ("reborn_b", "select count(*) from reborns")],
)
def test_a_role_that_is_made_anew_works_again(postgres, proxy, connect, role, text):
    """Backends that have logged in as the role that was dropped have no rights, nor a name."""
    make = (f"create role {role} login", f"grant select on reborns to {role}")
    drop = (f"drop owned by {role}", f"drop role {role}")
    postgres.sql("create table reborns (a int)")
    try:
        for statement in make:
            postgres.sql(statement)
        session = connect(proxy, user=role)
        assert session.value(text) in (role, "0")
        for statement in drop + make:
            postgres.sql(statement)
        with pytest.raises(ServerError) as told:
            session.query(text)
        assert told.value.fields["C"] in ("42704", "42501")
        assert session.value(text) in (role, "0")
    finally:
        for statement in (*drop, "drop table reborns"):
            postgres.sql(statement)
