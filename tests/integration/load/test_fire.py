"""BEGIN under fire: a transaction that did not send COMMIT never commits, whatever strikes it."""

import pytest
from form import FULL

from support.waiting import until_none

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

SECONDS = 60 if FULL else 5
TIMEOUTS_MS = (1, 2, 3, 5)


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres):
    for ms in TIMEOUTS_MS:
        quiet_postgres.sql(
            f"create role fire_{ms} login; alter role fire_{ms} set statement_timeout = '{ms}ms'"
        )
    return module_proxy(
        quiet_postgres,
        {
            "databases": {
                "*": {
                    "conninfo": f"host={quiet_postgres.directory} port={quiet_postgres.port}",
                    "pool_size": 24,
                }
            },
            "workloads": [
                {"name": "default", "concurrency": 4, "queue": 50, "queue_wait": "2s", "orphan_hold": "1s"}
            ],
        },
    )


# The statement timeouts come with the session's startup packet, or with its role.
@pytest.mark.parametrize("timeouts", ["options", "roles"])
def test_no_row_is_committed_without_commit(play, proxy, quiet_postgres, timeouts):
    result = play(
        "pgb_fire",
        proxy,
        seconds=SECONDS,
        timeouts=timeouts,
        direct_host=quiet_postgres.directory,
        direct_port=quiet_postgres.port,
    )
    control = result["control"]
    assert not result["stuck"]
    # A known defect: once in some ten thousand strikes a client that leaves while its BEGIN is struck keeps
    # its permit until its backend is given up.
    until_none(lambda: proxy.metrics().held(), 40, "the permits are back")
    assert (result["committed_without_commit"], result["rows_seen_meanwhile"]) == (0, 0), result[
        "committed_by_style"
    ]
    assert (control["acknowledged_missing"], control["acknowledged_doubled"]) == (0, 0)
    assert (control["rolled_back_but_there"], control["unknown_doubled"]) == (0, 0)
    assert control["commit_said_after_error"] == 0
    assert result["connections_lost"] == 0, result["errors"]
    # Else the fire was none.
    struck = [text for text in result["errors"] if text.startswith("57014")]
    assert any("user request" in text for text in struck) and any(
        "timeout" in text for text in struck
    )
    assert control["acknowledged"] > 0
