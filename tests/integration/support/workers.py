"""Clients that work while something happens."""

import contextlib
import threading

from .postgres import DATABASE
from .wire import Session


class Worker(threading.Thread):
    """Takes turn after turn on a session of its own until it is told to stop; the first error ends it. What a
    turn() is, says the class made of it; `done` of them went before."""

    def __init__(self, address, application_name):
        super().__init__()
        login = {"user": "alice", "database": DATABASE, "application_name": application_name}
        self.session = Session(address, login)
        self.over = threading.Event()
        self.done, self.error = 0, None

    def run(self):
        try:
            while not self.over.is_set():
                self.turn()
                self.done += 1
        except Exception as error:  # noqa: BLE001
            self.error = error
        self.session.terminate()


@contextlib.contextmanager
def at_work(workers):
    """They work within the block; behind it none has met an error."""
    for worker in workers:
        worker.start()
    try:
        yield workers
    finally:
        for worker in workers:
            worker.over.set()
        for worker in workers:
            worker.join()
    assert [worker.error for worker in workers if worker.error] == []
