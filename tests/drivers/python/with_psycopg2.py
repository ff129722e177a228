"""psycopg2: literals in the client, server-side cursors, COPY, NOTIFY, its own pool."""

import io
import select
import threading

import psycopg2
import psycopg2.errors
import psycopg2.extras
import psycopg2.pool
from checks import DATABASE, HOST, PORT, TIGHT, USER, check, fails, same

WHERE = {"host": HOST, "port": PORT, "dbname": DATABASE, "user": USER}


def connect(**more):
    return psycopg2.connect(**WHERE, **more)


def rows(connection, text, args=None):
    with connection.cursor() as cursor:
        cursor.execute(text, args)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def count(connection):
    return rows(connection, "select count(*) from t")[0][0]


def login():
    connection = connect(options="-c work_mem=5MB", application_name="before")
    same(rows(connection, "show work_mem"), [("5MB",)])
    same(rows(connection, "show application_name"), [("before",)])
    connection.close()


def simple():
    connection = connect()
    same(rows(connection, "select 1, 'two'"), [(1, "two")])
    same(rows(connection, "select 1; select 2"), [(2,)])
    connection.close()


def prepared():
    connection = connect()
    rows(connection, "prepare plan as select $1::int + 1")
    connection.commit()
    for number in range(5):
        same(rows(connection, "execute plan (%s)", [number]), [(number + 1,)])
        connection.commit()
    connection.close()


def commit():
    connection = connect()
    before = count(connection)
    same(rows(connection, "insert into t values (%s, %s)", [1, "one"]), 1)
    connection.commit()
    same(count(connection), before + 1)
    connection.close()


def rollback():
    connection = connect()
    before = count(connection)
    rows(connection, "insert into t values (1, 'one')")
    connection.rollback()
    same(count(connection), before)
    with connection, connection.cursor() as cursor:
        cursor.execute("savepoint a")
        cursor.execute("insert into t values (2, 'two')")
        cursor.execute("rollback to a")
    same(count(connection), before)
    connection.close()


def error():
    connection = connect()
    fails("22012", lambda: rows(connection, "select 1/0"))
    fails("25P02", lambda: rows(connection, "select 1 + 0"))
    connection.rollback()
    same(rows(connection, "select 1 + 0"), [(1,)])
    connection.close()


def copy():
    connection = connect()
    before = count(connection)
    text = "".join(f"{number}\trow {number}\n" for number in range(2000))
    with connection.cursor() as cursor:
        cursor.copy_expert("copy t from stdin", io.StringIO(text))
    connection.commit()
    same(count(connection), before + 2000)
    out = io.StringIO()
    with connection.cursor() as cursor:
        cursor.copy_expert(
            "copy (select a, b from t where b like 'row %' order by a) to stdout", out
        )
    same(out.getvalue(), text)
    psycopg2.extras.execute_values(
        connection.cursor(), "insert into t values %s", [(n, "many") for n in range(500)]
    )
    connection.rollback()
    connection.close()


def cursors():
    connection = connect()
    with connection.cursor("named") as cursor:
        cursor.itersize = 100
        cursor.execute("select generate_series(1, 1000)")
        same(sum(row[0] for row in cursor), 500500)
    connection.commit()
    held = connection.cursor("held", withhold=True)
    held.execute("select generate_series(1, 3)")
    connection.commit()
    same(held.fetchall(), [(1,), (2,), (3,)])
    held.close()
    connection.close()


def cancel():
    connection = connect()
    timer = threading.Timer(0.3, connection.cancel)
    timer.start()
    fails("57014", lambda: rows(connection, "select pg_sleep(20)"))
    timer.join()
    connection.rollback()
    same(rows(connection, "select 1 + 0"), [(1,)])
    connection.close()


def notify():
    listener, speaker = connect(), connect()
    listener.autocommit = True
    rows(listener, "listen psycopg2")
    for number in range(3):
        rows(speaker, "select pg_notify('psycopg2', %s)", [str(number)])
        speaker.commit()
    heard = []
    while len(heard) < 3:
        assert select.select([listener], [], [], 5)[0], f"only {heard}"
        listener.poll()
        heard += [notice.payload for notice in listener.notifies]
        listener.notifies.clear()
    same(heard, ["0", "1", "2"])
    listener.close()
    speaker.close()


def refusal_autocommit():
    holder, connection = connect(application_name=TIGHT), connect(application_name=TIGHT)
    rows(holder, "select 1 + 0")
    connection.autocommit = True
    for _ in range(3):
        refused = fails("40001", lambda: rows(connection, "select 1 + 0"))
        assert isinstance(refused, psycopg2.OperationalError)
    holder.close()
    same(rows(connection, "select 1 + 0"), [(1,)])
    connection.close()


def refusal_block():
    """The driver sends BEGIN with the first statement; the pool rolls back by itself."""
    holder = connect(application_name=TIGHT)
    rows(holder, "select 1 + 0")
    pool = psycopg2.pool.SimpleConnectionPool(1, 1, **WHERE, application_name=TIGHT)
    connection = pool.getconn()
    process = connection.info.backend_pid
    refused = fails("40001", lambda: rows(connection, "select 1 + 0"))
    assert isinstance(refused, psycopg2.errors.SerializationFailure)
    assert "reason=queue_timeout" in refused.diag.message_hint
    pool.putconn(connection)
    holder.rollback()
    connection = pool.getconn()
    same(connection.info.backend_pid, process)
    same(rows(connection, "select 1 + 0"), [(1,)])
    pool.putconn(connection)
    pool.closeall()
    holder.close()


for body in (
    login,
    simple,
    prepared,
    commit,
    rollback,
    error,
    copy,
    cursors,
    cancel,
    notify,
    refusal_autocommit,
    refusal_block,
):
    check(body.__name__, body)
