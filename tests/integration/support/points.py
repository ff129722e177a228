"""The points of a transaction at which its backend may be lost, what the client must hear then,
and how they are lost."""

import signal
from typing import Callable, NamedTuple

from .messages import CopyData, D, E, H, P, B, Q, S, batch, query_batch
from .waiting import until

LONG = 600
# More than all the windows and buffers on the way to a client hold together.
LARGE = 30_000_000


class Point(NamedTuple):
    """`reach(session, server, n)` brings a session there; rows it writes have the number `n`."""

    reach: Callable
    # What the client is told, a row of the table of outcomes:
    #   free     nothing was sent: nothing is told
    #   block    40001 backend_lost, and a failed block until the client ends it
    #   unknown  08007, outside a block
    #   cut      the stream ends inside a message
    row: str
    # Answers of the proxy's that are owed: one for each Query and Sync that was not answered.
    owed: int = 1
    # Rows with the number that are stored for good.
    stored: int = 0


def running(server, text):
    """Waits until a statement with the text runs."""
    until(lambda: server.running(text), what=f"{text} runs")


def insert(n):
    return f"insert into t values ({n})"


def slow_insert(n):
    return f"insert into t select {n} from pg_sleep({LONG}) /* n {n} */"


def in_block(session, n):
    session.ask(Q("begin"), Q(insert(n)), ready=2)


# ---- how each is reached


def idle(session, server, n):
    session.query("select 1 + 0")


def virtual_block(session, server, n):
    session.query("begin")


def first_statement(session, server, n):
    session.ask(Q("begin"))
    session.send(Q(slow_insert(n)))
    running(server, f"/* n {n} */")


def between_statements(session, server, n):
    in_block(session, n)


def statement_in_block(session, server, n):
    in_block(session, n)
    session.send(Q(f"select pg_sleep({LONG}) /* n {n} */"))
    running(server, f"/* n {n} */")


def described(session, server, n):
    in_block(session, n)
    session.send(P(f"select pg_sleep({LONG}) /* n {n} */"), B(), D("P"), H)
    session.until("T")
    session.send(E(), S)
    until(lambda: sleeping(server, n), what="it is executed")


def sleeping(server, n):
    return server.count(
        f"""select count(*) from pg_stat_activity
        where wait_event = 'PgSleep' and position('/* n {n} */' in query) > 0"""
    )


def inside_a_row(session, server, n):
    """So large that it fits into no buffer on its way; the client reads its beginning only."""
    session.send(Q(f"select repeat('x', {LARGE}) /* n {n} */"))
    session.raw(100000)
    until(
        lambda: server.count(
            f"""select count(*) from pg_stat_activity
            where wait_event = 'ClientWrite' and position('/* n {n} */' in query) > 0"""
        ),
        what="the row is half sent",
    )


def autocommit(session, server, n):
    session.send(Q(slow_insert(n)))
    running(server, f"/* n {n} */")


def autocommit_batch(session, server, n):
    session.send(query_batch(slow_insert(n)))
    running(server, f"/* n {n} */")


def commit(session, server, n):
    in_block(session, n)
    session.ask(Q(f"insert into slow_commit values ({10 * LONG})"))
    session.send(Q(f"commit /* n {n} */"))
    running(server, f"/* n {n} */")


def owed_sync(session, server, n):
    session.send(batch(insert(n)), H)
    session.until("C")


def copy_in(session, server, n):
    session.send(Q("copy t (a) from stdin"))
    session.until("G")
    session.send(CopyData(f"{n}\n"))


def copy_in_block(session, server, n):
    in_block(session, n)
    copy_in(session, server, n)


def copy_out(session, server, n):
    """It has begun and sent no row yet."""
    session.send(P(f"copy (select pg_sleep({LONG}) /* n {n} */) to stdout"), B(), E(), S)
    running(server, f"/* n {n} */")


def pipeline(session, server, n):
    """The first batch is done, the second runs, the third waits behind it."""
    session.send(query_batch(insert(n)) + query_batch(slow_insert(n)) + query_batch(insert(n)))
    session.until("Z")
    running(server, f"from pg_sleep({LONG}) /* n {n} */")


def pipelined_block(session, server, n):
    session.send(Q("begin") + Q(insert(n)) + Q(slow_insert(n)) + Q(insert(n)) + Q("commit"))
    session.until("Z", 2)
    running(server, f"/* n {n} */")


def prepare_transaction(session, server, n):
    in_block(session, n)
    session.ask(Q(f"insert into slow_commit values ({10 * LONG})"))
    session.send(Q(f"prepare transaction 'n {n}'"))
    running(server, f"prepare transaction ''n {n}''")


POINTS = {
    "idle": Point(idle, "free", owed=0),
    "virtual block": Point(virtual_block, "free", owed=0),
    "first statement of a block": Point(first_statement, "block"),
    "between two statements": Point(between_statements, "block", owed=0),
    "statement in a block": Point(statement_in_block, "block"),
    "after the description": Point(described, "block"),
    "inside a row": Point(inside_a_row, "cut"),
    "autocommit": Point(autocommit, "unknown"),
    "autocommit by batch": Point(autocommit_batch, "unknown"),
    "commit": Point(commit, "unknown"),
    "owed Sync": Point(owed_sync, "unknown", owed=0),
    "copy in": Point(copy_in, "unknown"),
    "copy in a block": Point(copy_in_block, "block"),
    "copy out": Point(copy_out, "unknown"),
    "pipeline": Point(pipeline, "unknown", owed=2, stored=1),
    "pipelined block": Point(pipelined_block, "unknown", owed=3),
    "prepare transaction": Point(prepare_transaction, "unknown"),
}


# ---- how all are lost


def terminate(server):
    before = set(server.backend_pids())
    server.end_backends()
    until(lambda: not before & set(server.backend_pids()), what="the backends have gone")


STRIKES = {
    "SIGKILL": lambda server: server.kill_backends(),
    "pg_terminate_backend": terminate,
    "restart -m fast": lambda server: server.restart(signal.SIGINT),
    "restart -m immediate": lambda server: server.restart(signal.SIGQUIT),
}
