"""The length of the heavy tests: the short form for every change, the full one for what a release is judged by."""

import os

FULL = os.environ.get("PGBULKHEAD_TEST_FULL", "") not in ("", "0")
