"""Fixtures: one PostgreSQL for all, proxies by module, and connections that are closed at the end
of a test."""

import pytest

pytest.register_assert_rewrite("support")

from support import postgres as postgres_module  # noqa: E402
from support import proxy as proxy_module  # noqa: E402
from support import server_version  # noqa: E402
from support.certificates import Authority  # noqa: E402
from support.wire import Session  # noqa: E402


def pytest_collection_modifyitems(items):
    if proxy_module.DIRECT:
        skip = pytest.mark.skip(reason="PostgreSQL stands in for the proxy")
        for item in items:
            if "needs_proxy" in item.keywords and "proves_postgresql" not in item.keywords:
                item.add_marker(skip)
    for item in items:
        case = item.callspec.id if hasattr(item, "callspec") else ""
        if case in server_version.LEFT_OUT:
            item.add_marker(pytest.mark.skip(reason=server_version.LEFT_OUT[case]))


@pytest.fixture(scope="session")
def postgres():
    server = postgres_module.Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def own_postgres():
    """A PostgreSQL that the module may stop and break."""
    server = postgres_module.Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Whom a test believes; issues certificates."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def identity(authority):
    """(certificate, key) of a server on this machine."""
    return authority.issue("localhost")


def _factory(made):
    def make(server, changes=None, kind=proxy_module.Proxy, **more):
        if proxy_module.DIRECT:
            return proxy_module.StandIn(server)
        made.append(kind(server, changes, **more))
        return made[-1]

    return make


def _end(made):
    try:
        for proxy in made:
            proxy.stop()
        for proxy in made:
            proxy.assert_log_is_clean()
    finally:
        for proxy in made:
            proxy.remove()


@pytest.fixture(scope="module")
def module_proxy():
    """Makes proxies that live as long as the module: `module_proxy(postgres, changes)`."""
    made = []
    yield _factory(made)
    _end(made)


@pytest.fixture
def new_proxy():
    """Makes proxies that live as long as the test; each must end with code 0 on SIGTERM."""
    made = []
    yield _factory(made)
    _end(made)


@pytest.fixture
def unstarted(postgres):
    """`unstarted(changes)` writes the file of a proxy that the test starts, or does not."""
    made = []

    def make(changes=None):
        made.append(proxy_module.Proxy(postgres, changes, start=False))
        return made[-1]

    yield make
    _end(made)


@pytest.fixture
def connect():
    """`connect(where, user=..., ...)`: a logged-in session, closed after the test."""
    opened = []

    def make(where, login=True, address=None, protocol=None, **params):
        names = {"user": "alice", "database": postgres_module.DATABASE, **params}
        extra = {} if protocol is None else {"protocol": protocol}
        session = Session(address or where.address, names if login else None, **extra)
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.terminate()


@pytest.fixture(autouse=True)
def clean(request):
    """After every test that used the module's proxy: nothing is counted, works or is locked."""
    proxy = request.getfixturevalue("proxy") if "proxy" in request.fixturenames else None
    yield
    if proxy:
        proxy.assert_clean()
