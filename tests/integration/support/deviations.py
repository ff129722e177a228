"""Where the proxy's answer is known to differ from PostgreSQL's. Everything else must be equal.

A case of an oracle test that meets one of these says so with `deviates=NAME` and writes down the
proxy's own answer.
"""

from typing import NamedTuple


class Deviation(NamedTuple):
    name: str
    reason: str


BEGIN_FAILS_LATE = Deviation(
    "begin fails late",
    "BEGIN is answered before a backend is taken. A BEGIN that PostgreSQL would refuse (a "
    "mode that its state does not allow) gets the error with the next statement.",
)
SET_TRANSACTION_LATE = Deviation(
    "set transaction fails late",
    "SET TRANSACTION and SAVEPOINT right after BEGIN belong to the virtual part: their errors "
    "too come with the first statement that needs a backend.",
)
CLOCK_STARTS_LATE = Deviation(
    "the clock starts late",
    "now() and transaction_timestamp() are the time of the first statement after BEGIN, as no "
    "transaction exists in PostgreSQL before it.",
)
NO_SERVER_TIMEOUT = Deviation(
    "no server timeout in a virtual transaction",
    "idle_in_transaction_session_timeout of PostgreSQL does not see a BEGIN without a "
    "statement. It holds nothing there either.",
)
NO_FATAL_IN_SESSION = Deviation(
    "no FATAL inside a session",
    "A lost backend is told by an ERROR that says what is known of the outcome (40001 or "
    "08007); PostgreSQL itself would say FATAL 57P01 and close.",
)
LEFT_IN_COPY = Deviation(
    "end of the stream inside COPY",
    "The connection of a client that stops sending inside COPY FROM STDIN is closed without a "
    "word; PostgreSQL says 08006 and 08P01 first. Nothing is stored in either case.",
)
NEWER_PROTOCOL = Deviation(
    "protocol 3.2",
    "The proxy speaks 3.0 and 3.2 to its clients; PostgreSQL before 18 grants 3.0 only.",
)

ALL = [
    BEGIN_FAILS_LATE,
    SET_TRANSACTION_LATE,
    CLOCK_STARTS_LATE,
    NO_SERVER_TIMEOUT,
    NO_FATAL_IN_SESSION,
    LEFT_IN_COPY,
    NEWER_PROTOCOL,
]
