"""Runs a transaction again when it was refused, on psycopg 3: after the time that the refusal names,
and as long as there is a budget for retries. See ../README.md.

    retry = Retry()

    def transfer():
        with pool.connection() as connection:
            connection.execute("update ...")

    retry.run(transfer)
"""

import random
import threading
import time

import psycopg

# Nothing of the transaction took effect: refused, a serialization failure, a deadlock.
SAFE = ("40001", "40P01")


class Retry:
    """One for each program and database: the budget is what all its threads share."""

    def __init__(self, share=0.1, burst=10, attempts=5):
        self._share, self._burst, self._attempts = share, burst, attempts
        self._tokens = float(burst)
        self._lock = threading.Lock()

    def run(self, transaction):
        """Calls `transaction`, which must be the whole of it, with its own BEGIN and COMMIT."""
        with self._lock:
            self._tokens = min(self._burst, self._tokens + self._share)
        attempt = 1
        while True:
            try:
                return transaction()
            except psycopg.Error as error:
                # 08007 is not among the safe ones: it may have been stored.
                if error.sqlstate not in SAFE or attempt == self._attempts or not self._take():
                    raise
                delay = after(error, attempt)
            time.sleep(delay)
            attempt += 1

    def _take(self):
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True


def after(error, attempt):
    """Seconds to wait: what the refusal says, never less, and up to twice that by chance."""
    pairs = (word.partition("=") for word in (error.diag.message_hint or "").split())
    named = next((value for key, _, value in pairs if key == "retry_after_ms"), "")
    milliseconds = int(named) if named.isdigit() else 10 * 2**attempt
    return milliseconds / 1000 * (1 + random.random())
