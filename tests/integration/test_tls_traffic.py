"""What flows is the same under TLS: much of it, slowly, cut short, and from many at once."""

import os
import statistics
import threading
import time

import pytest

from support.messages import B, CopyData, CopyDone, D, E, P, Q, S, X
from support.oracle import END, FIN, Cut, Z, case, compare, ready, upto
from support.postgres import DATABASE
from support.tls import TlsAddress, behind_tls, client_context, door
from support.waiting import PATIENCE, until
from support.wire import Session

pytestmark = pytest.mark.needs_proxy

ALICE = {"user": "alice", "database": DATABASE}
FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
TEN_MB = 10_000_000


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres, authority):
    return module_proxy(
        postgres,
        {"limits": {"high_watermark": "64KiB"}},
        tls=door(authority.issue("localhost"), "allow"),
    )


@pytest.fixture(scope="module")
def secure(proxy, authority):
    return behind_tls(proxy, authority.root)


@pytest.fixture
def session(secure):
    session = Session(secure.address, ALICE)
    yield session
    session.terminate()


MANY = b"".join(P(f"select {i}") + B() + D() + E() + S for i in range(60))
ROWS = b"".join(CopyData(f"{i}\tx\n") for i in range(500))

SAME = [
    case("a query", Q("select 1, 'two'"), Z),
    case("a pipeline in pieces", Cut(MANY, 7, 60), ready(60)),
    case("a copy in pieces", Q("copy t from stdin"), upto("G"), Cut(ROWS + CopyDone, 3, 40), Z),
    case("rows and then a mistake", Q("select 1 / (3 - i) from generate_series(1, 5) i"), Z),
    case("a long text", Q("select length('" + "x" * 300_000 + "')"), Z),
    case(
        "the goodbye in the same record", Q("insert into t values (1, 'a')") + X, END, ends="closed"
    ),
    case(
        "a half-close behind the last query", Q("insert into t values (2, 'b')"), FIN, ends="closed"
    ),
]


@pytest.mark.parametrize("made", SAME)
def test_the_same_bytes_get_the_same_messages_over_tls(postgres, secure, proxy, made):
    compare(postgres, secure, made)


@pytest.mark.parametrize("size", [1, 4091, 8187, 8188, 16379, 16384, 65531, 300_000])
def test_no_size_of_a_message_stalls(session, size):
    session.send(Q(f"select '{'x' * size}', 1"))
    got = session.until("Z")
    assert len(got[1].row()[0]) == size


def test_a_library_that_waits_for_its_socket_never_waits_for_what_it_has(proxy, authority):
    """libpq reads 8 KiB, and then waits: the rest of a longer record would never be announced."""
    psycopg = pytest.importorskip("psycopg")
    names = f"host=localhost hostaddr=127.0.0.1 port={proxy.port} dbname={DATABASE} user=alice"
    trust = f"sslmode=verify-full sslrootcert={authority.root} connect_timeout=10"
    with psycopg.connect(f"{names} {trust}", autocommit=True) as connection:
        connection.execute(f"set statement_timeout = {int(10_000 * PATIENCE)}")
        for size in (1, 8150, 8192, 8200, 16300, 16384, 16400, 32768, 65536, 200_000):
            row = connection.execute("select repeat('x', %s)", (size,)).fetchone()
            assert len(row[0]) == size
        with connection.pipeline():
            cursors = [connection.execute("select repeat('x', 5000)") for _ in range(40)]
        assert all(len(cursor.fetchone()[0]) == 5000 for cursor in cursors)


def test_a_slow_reader_gets_all_of_ten_megabytes_and_holds_the_backend_back(proxy, session):
    before = proxy.resources()[1]
    session.send(Q("select repeat('x', 20000) from generate_series(1, 500)"))
    until(lambda: proxy.running() == 1, what="it runs")
    got = 0
    while got < TEN_MB:
        if got % 1_000_000 < 40_000:
            time.sleep(0.005)  # lint: a random moment
        message = session.read()
        if message.kind == "Z":
            break
        got += sum(map(len, message.row())) if message.kind == "D" else 0
    assert got == TEN_MB
    session.until("Z")
    if not os.environ.get("PGBULKHEAD_TEST_NO_RSS"):
        assert proxy.resources()[1] - before < 4096


def test_ten_megabytes_go_in(postgres, session):
    session.ask(Q("create temp table much (x text)"))
    session.send(Q("copy much from stdin"))
    session.until("G")
    row = CopyData("y" * 999 + "\n")
    for _ in range(100):
        session.send(row * 100)
    session.send(CopyDone)
    session.until("Z")
    assert session.value("select sum(length(x) + 1) from much") == str(TEN_MB)
    session.ask(Q("discard all"))


def test_both_sides_may_be_full_at_once(session):
    insert = Q("select repeat('z', 20000)")
    session.send(insert * 500, within=20)
    got = session.until("Z", 500, within=20)
    assert sum(len(m.row()[0]) for m in got if m.kind == "D") == TEN_MB


def test_input_that_waits_in_the_tls_layer_is_not_forgotten(new_proxy, postgres, authority):
    """Reading stops while the only permit is held; what is in a record half read goes on then."""
    proxy = new_proxy(
        postgres,
        {
            "limits": {"max_message_buffer": "16KiB"},
            "workloads": [{"name": "default", "concurrency": 1, "queue": 5, "queue_wait": "10s"}],
        },
        tls=door(authority.issue("localhost")),
    )
    address = behind_tls(proxy, authority.root).address
    holder, waiter = Session(address, ALICE), Session(address, ALICE)
    holder.ask(Q("begin; select 1"))
    queries = [Q(f"select {i}, '{'q' * 3000}'") for i in range(100)]
    sender = threading.Thread(target=waiter.send, args=(b"".join(queries),), kwargs={"within": 20})
    sender.start()
    until(lambda: proxy.waiting() == 1, what="it waits")
    holder.ask(Q("commit"))
    sender.join()
    got = waiter.until("Z", 100, within=20)
    assert [m.row()[0] for m in got if m.kind == "D"] == [str(i) for i in range(100)]
    holder.terminate()
    waiter.terminate()


@pytest.mark.parametrize("how", ["close_notify", "FIN", "RST"])
def test_a_client_that_goes_leaves_nothing(proxy, secure, how):
    session = Session(secure.address, ALICE)
    session.send(Q("begin; insert into t values (9, 'never')"))
    session.until("Z")
    if how == "close_notify":
        session.sock.say_end()
        assert session.raw(1) == b"", "answered by an end"
    elif how == "FIN":
        session.half_close()
    else:
        session.reset_connection()
    until(lambda: not proxy.metrics().held(), what="all is back")
    assert proxy.postgres.count("select count(*) from t where a = 9") == 0
    if how != "RST":
        session.close()


def test_many_idle_sessions_cost_little(new_proxy, postgres, authority):
    proxy = new_proxy(postgres, tls=door(authority.issue("localhost")))
    address = behind_tls(proxy, authority.root).address
    warm = [Session(address, ALICE) for _ in range(20)]
    before = proxy.resources()[1]
    count = 1000 if FULL else 200
    sessions = [Session(address, ALICE) for _ in range(count)]
    each = (proxy.resources()[1] - before) * 1024 / count
    print(f"{count} idle TLS sessions: {each:.0f} bytes of RSS each")
    assert sessions[-1].value("select 6 * 7") == "42"
    for session in warm + sessions:
        session.close()
    if not os.environ.get("PGBULKHEAD_TEST_NO_RSS"):
        assert each < 40_000


def test_a_storm_of_handshakes_does_not_stop_who_is_in(proxy, secure):
    session = Session(secure.address, ALICE)
    ending = threading.Event()
    done = [0, 0, 0]

    def storm(which):
        while not ending.is_set():
            sock = secure.address.connect()
            sock.close()
            done[which] += 1

    storms = [threading.Thread(target=storm, args=(i,)) for i in range(3)]
    for thread in storms:
        thread.start()
    try:
        until(lambda: sum(done) > 20, what="the storm is there")
        times = []
        while len(times) < 200:
            start = time.monotonic()
            assert session.value("select 6 * 7") == "42"
            times.append(time.monotonic() - start)
    finally:
        ending.set()
        for thread in storms:
            thread.join()
    print(f"median {statistics.median(times) * 1e3:.2f} ms, {sum(done)} handshakes meanwhile")
    assert max(times) < 5 * PATIENCE
    session.terminate()
