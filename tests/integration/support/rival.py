"""A second client in a closed loop beside a test: whoever shares its backend must never be seen by
it."""

import threading

from .messages import Q
from .postgres import DATABASE
from .wire import Session

TEXT = "select 'b' /* rival */"


class Rival:
    """`with Rival(address) as rival:` runs a query over and over and checks each whole answer.

    `text` must answer one row with `b`. `rival.rounds` counts the answers; at the end of the block every answer must have been right.
    It logs in with the same parameters as the sessions of the tests, or no backend could serve
    both.
    """

    def __init__(self, address, text=TEXT):
        self._text = text
        self._session = Session(address, {"user": "alice", "database": DATABASE})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self.rounds = 0
        self.wrong = []

    def _loop(self):
        try:
            while not self._stop.is_set():
                got = self._session.ask(Q(self._text), within=15)
                kinds = "".join(msg.kind for msg in got)
                if kinds != "TDCZ" or got[1].row() != ("b",):
                    self.wrong.append(got)
                self.rounds += 1
        except Exception as error:  # noqa: BLE001 - reported by the test's own thread
            self.wrong.append(error)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(30)
        self._session.terminate()
        assert not self._thread.is_alive(), "the rival hangs"
        assert not self.wrong, self.wrong[:3]
