"""Why a test may pass on PostgreSQL itself and fail through the proxy: {(suite, pooling): {test: why}}."""

SHOWS_OURS = "pg_prepared_statements shows the proxy's own statements too"
NO_LOGIN = "a new session takes a backend that is there, so no login is counted"
POOLED = "an idle backend of the pool is still connected to the database that is dropped"
SURVIVES = "the test ends its backend; the client's connection lives on, and is told by an ERROR"
TEMPORARY = "a backend that has had temporary tables keeps their schema, so looking at it needs none"
PING = "the proxy answers a ping, and hears of the backend's end a moment after the client's ping"
CLOCK = "it cancels after 10 ms; a login that takes longer on a busy machine fails it directly, too"
OWN_ID = "a session has an id of its own; a notification tells the id of the backend that sent it"

EXPECTED = {
    ("regression", "transaction"): {
        "guc": SHOWS_OURS,
        "stats": NO_LOGIN,
        "temp": TEMPORARY,
    },
    ("libpqxx", "transaction"): {"test_notification": OWN_ID},
    ("lib-pq", "transaction"): {
        "TestCopyRespLoopConnectionError": SURVIVES,
        "TestListenerReconnect": SURVIVES,
        "TestPing": SURVIVES,
    },
    ("lib-pq", "session"): {"TestContextCancelExec": CLOCK, "TestPing": PING},
    ("pgx", "transaction"): {
        "TestFatalRxError": SURVIVES,
        "TestFatalTxError": SURVIVES,
        "TestLRUModePrepare": SHOWS_OURS,
        "TestLRUModeDescribe": SHOWS_OURS,
        "TestLRUStmtInvalidation": SHOWS_OURS,
    },
    ("django", "transaction"): {"the test databases are dropped": POOLED},
}


def reason(suite, pooling, test):
    return EXPECTED.get((suite, pooling), {}).get(test, "")
