"""psycopg 3: extended protocol, statements prepared by themselves, pipeline mode, COPY, its pool."""

import pathlib
import sys
import threading

import psycopg
import psycopg_pool
from checks import DATABASE, HOST, PORT, TIGHT, USER, check, fails, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "deploy/clients/python"))
from retry import Retry  # noqa: E402

WHERE = {"host": HOST, "port": PORT, "dbname": DATABASE, "user": USER}


def connect(**more):
    return psycopg.connect(**WHERE, **more)


def one(connection, text, args=None):
    return connection.execute(text, args).fetchone()


def count(connection):
    return one(connection, "select count(*) from t")[0]


def login():
    with connect(options="-c work_mem=5MB", application_name="before") as connection:
        same(one(connection, "show work_mem"), ("5MB",))
        same(connection.info.parameter_status("application_name"), "before")


def simple():
    with connect(autocommit=True) as connection:
        same(one(connection, "select 1, 'two'"), (1, "two"))
        cursor = connection.execute("select 1; select 2")
        same(cursor.nextset() and cursor.fetchone(), (2,))


def prepared():
    with connect() as connection:
        for number in range(12):
            same(one(connection, "select %s::int + 1", [number]), (number + 1,))
            same(connection.execute("select %s::text", ["x"], prepare=True).fetchone(), ("x",))
            connection.commit()
        cursor = connection.cursor(binary=True)
        same(cursor.execute("select %b::int8", [2**40]).fetchone(), (2**40,))


def commit():
    with connect() as connection:
        before = count(connection)
        same(connection.execute("insert into t values (%s, %s)", [1, "one"]).rowcount, 1)
        connection.commit()
        same(count(connection), before + 1)


def rollback():
    with connect() as connection:
        before = count(connection)
        connection.execute("insert into t values (1, 'one')")
        connection.rollback()
        same(count(connection), before)
        with connection.transaction():
            with connection.transaction() as inner:
                connection.execute("insert into t values (2, 'two')")
                raise psycopg.Rollback(inner)
        same(count(connection), before)


def error():
    with connect() as connection:
        fails("22012", lambda: one(connection, "select 1/%s", [0]))
        fails("25P02", lambda: one(connection, "select 1 + 0"))
        connection.rollback()
        same(one(connection, "select 1 + 0"), (1,))


def copy():
    with connect() as connection:
        before = count(connection)
        with connection.cursor().copy("copy t from stdin") as sink:
            for number in range(2000):
                sink.write_row((number, f"row {number}"))
        same(count(connection), before + 2000)
        with connection.cursor().copy("copy (select 1, 'x') to stdout") as source:
            same([bytes(data) for data in source], [b"1\tx\n"])
        cursor = connection.cursor()
        cursor.executemany("insert into t values (%s, %s)", [(n, "many") for n in range(300)])
        same(cursor.rowcount, 300)
        connection.rollback()
        same(count(connection), before)


def pipeline():
    with connect(autocommit=True) as connection:
        before = count(connection)
        with connection.pipeline() as line:
            with connection.transaction():
                for number in range(20):
                    connection.execute("insert into t values (%s, 'line')", [number])
            answers = [connection.execute("select %s::int", [n]) for n in range(20)]
            line.sync()
            same([answer.fetchone()[0] for answer in answers], list(range(20)))
        same(count(connection), before + 20)

        def broken():
            with connection.pipeline():
                connection.execute("insert into t values (1, 'lost')")
                connection.execute("select 1/0")

        fails("22012", broken)
        same(count(connection), before + 20)


def cursors():
    with connect() as connection:
        with connection.cursor("named") as cursor:
            cursor.execute("select generate_series(1, %s)", [1000])
            cursor.itersize = 100
            same(sum(row[0] for row in cursor), 500500)
        same(sum(row[0] for row in connection.cursor().stream("select generate_series(1,10)")), 55)


def cancel():
    with connect() as connection:
        timer = threading.Timer(0.3, connection.cancel)
        timer.start()
        fails("57014", lambda: one(connection, "select pg_sleep(20)"))
        timer.join()
        connection.rollback()
        same(one(connection, "select 1 + 0"), (1,))


def notify():
    with connect(autocommit=True) as listener, connect(autocommit=True) as speaker:
        listener.execute("listen psycopg")
        for number in range(3):
            speaker.execute("select pg_notify('psycopg', %s)", [str(number)])
        heard = []
        for notice in listener.notifies():
            heard.append(notice.payload)
            if len(heard) == 3:
                break
        same(heard, ["0", "1", "2"])


def refusal_autocommit():
    with connect(application_name=TIGHT) as holder:
        holder.execute("select 1 + 0")
        with connect(application_name=TIGHT, autocommit=True) as connection:
            for _ in range(3):
                refused = fails("40001", lambda: one(connection, "select %s::int", [1]))
                assert isinstance(refused, psycopg.errors.SerializationFailure)
            holder.rollback()
            same(one(connection, "select %s::int", [1]), (1,))


def refusal_login():
    """A login, and a pool that looks at its connections, while the budget is full."""
    with connect(application_name=TIGHT) as holder:
        holder.execute("select 1 + 0")
        with psycopg_pool.ConnectionPool(
            min_size=1, max_size=1, kwargs={**WHERE, "application_name": TIGHT, "autocommit": True}
        ) as pool:
            for _ in range(3):
                pool.check()
                with pool.connection(timeout=5) as connection:
                    same(one(connection, "select 1"), (1,))
                    connection.execute("discard all")


def refusal_block():
    """A pool of one connection, in whose blocks BEGIN goes ahead of the first statement."""
    with connect(application_name=TIGHT) as holder, psycopg_pool.ConnectionPool(
        min_size=1, max_size=1, kwargs={**WHERE, "application_name": TIGHT}
    ) as pool:
        holder.execute("select 1 + 0")

        def work():
            with pool.connection(timeout=5) as connection:
                processes.add(connection.info.backend_pid)
                one(connection, "select %s::int", [1])

        processes = set()
        for _ in range(3):
            fails("40001", work)
        holder.rollback()
        work()
        same(len(processes), 1)


def refusal_pipeline():
    with connect(application_name=TIGHT) as holder:
        holder.execute("select 1 + 0")
        with connect(application_name=TIGHT) as connection:

            def work():
                with connection.pipeline():
                    connection.execute("insert into t values (77, 'refused')")
                    connection.execute("insert into t values (77, 'refused')")

            fails("40001", work)
            connection.rollback()
            holder.rollback()
            same(one(connection, "select count(*) from t where b = 'refused'"), (0,))


def recipe(body):
    """`body(holder, work, calls)`: `work` is a transaction that notes each of its calls."""
    with connect(application_name=TIGHT) as holder, connect(application_name=TIGHT) as connection:
        holder.execute("select 1 + 0")
        calls = []

        def work():
            calls.append(1)
            if len(calls) == 3:
                holder.rollback()
            with connection.transaction():
                return one(connection, "select 7")

        body(work, calls)


def refusal_recipe_succeeds():
    def body(work, calls):
        same(Retry().run(work), (7,))
        same(len(calls), 3)

    recipe(body)


def refusal_recipe_gives_up():
    def body(work, calls):
        retry = Retry(burst=1)
        fails("40001", lambda: retry.run(work))
        same(len(calls), 2)
        calls.clear()
        fails("40001", lambda: retry.run(work))
        same(len(calls), 1)

    recipe(body)


def refusal_recipe_unknown():
    calls = []
    with connect(autocommit=True) as connection:

        def work():
            calls.append(1)
            one(connection, "select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)")

        fails("08007", lambda: Retry().run(work))
    same(len(calls), 1)


for body in (
    login,
    simple,
    prepared,
    commit,
    rollback,
    error,
    copy,
    pipeline,
    cursors,
    cancel,
    notify,
    refusal_autocommit,
    refusal_login,
    refusal_block,
    refusal_pipeline,
    refusal_recipe_succeeds,
    refusal_recipe_gives_up,
    refusal_recipe_unknown,
):
    check(body.__name__, body)
