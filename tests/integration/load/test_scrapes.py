"""Scraping costs the traffic nothing: 50 scrapes a second, of either format, hardly move the 99th percentile.

What holds on every machine is judged always: the event loop has next to nothing to do for a scrape. The percentile by its
full measure is for a machine that does nothing else: PGBULKHEAD_TEST_FULL=1.
"""

import pathlib
import threading
import time

import pytest
from bed import p99_of_naps
from form import FULL

from support.exposition import OPEN, scrape

pytestmark = [pytest.mark.needs_proxy, pytest.mark.load]

SCRAPES_A_SECOND = 50
# What a query may take at the 99th percentile beside them, in parts of what it takes without. The short form runs on machines
# on which others work, too, where it only tells a disaster from the rest.
LONGEST = 1.1 if FULL else 4
WORK_MS, SECONDS = 10, 10 if FULL else 2
# A machine that stalls while it measures has measured itself: the best of each kind is judged, after so many rounds at
# most. Taking the best of both keeps a lucky round beside an unlucky one from passing.
ROUNDS = 6
# The loop's processor time for a scrape: 50 of them a second take a fiftieth of it from the traffic, without optimisation.
LOOP_MS, SCRAPES = 0.4, 300
# Twelve workloads have some 2,000 series.
WORKLOADS = [
    *({"name": f"w{i}", "match": {"application_name": f"w{i}"}, "concurrency": 2} for i in range(11)),
    {"name": "default", "concurrency": 8, "queue": 16, "queue_wait": "1s"},
]


@pytest.fixture(scope="module")
def proxy(module_proxy, quiet_postgres):
    conninfo = f"host={quiet_postgres.directory} port={quiet_postgres.port}"
    entry = {"conninfo": conninfo, "pool_size": 9}
    return module_proxy(quiet_postgres, {"databases": {"*": entry}, "workloads": WORKLOADS})


class Scraper(threading.Thread):
    """Asks in a steady rhythm; one that was late is made up for at once."""

    def __init__(self, proxy):
        super().__init__(daemon=True)
        self.proxy, self.count, self.error = proxy, 0, None
        self._over = threading.Event()

    def run(self):
        start = time.monotonic()
        try:
            while not self._over.wait(max(0, start + self.count / SCRAPES_A_SECOND - time.monotonic())):
                scrape(self.proxy, OPEN if self.count % 2 else None)
                self.count += 1
        except BaseException as error:  # told by end()
            self.error = error

    def end(self):
        self._over.set()
        self.join()
        assert self.error is None, self.error


def queries(proxy):
    return p99_of_naps(proxy.unix_address, WORK_MS, SECONDS)


def test_50_scrapes_a_second_do_not_move_p99_by_more_than_a_tenth(proxy):
    queries(proxy)
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(queries(proxy))
        cpu = proxy.metrics().sum("process_cpu_seconds_total")
        scraper = Scraper(proxy)
        scraper.start()
        p99 = queries(proxy)
        scraper.end()
        cpu = proxy.metrics().sum("process_cpu_seconds_total") - cpu
        print(
            f"\np99 {alone[-1]:.2f} ms alone, {p99:.2f} ms beside {scraper.count} scrapes; "
            f"{cpu:.2f} s of processor time"
        )
        # In full, as many as were due in the time that was measured.
        if not FULL or scraper.count >= SCRAPES_A_SECOND * SECONDS:
            beside.append(p99)
        if beside and min(beside) <= LONGEST * min(alone):
            break
    assert beside, "no round had as many scrapes as were due"
    assert min(beside) <= LONGEST * min(alone)


def loop_ms(proxy):
    """Processor time of the thread that carries all traffic."""
    pid = proxy.process.pid
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


@pytest.mark.parametrize("accept", [None, OPEN], ids=["text", "openmetrics"])
def test_a_scrape_takes_next_to_nothing_of_the_loop_s_time(proxy, accept):
    scrape(proxy, accept)
    before = loop_ms(proxy)
    for _ in range(SCRAPES):
        scrape(proxy, accept)
    each = (loop_ms(proxy) - before) / SCRAPES
    print(f"\n{1000 * each:.0f} us of the loop's time for a scrape")
    assert each <= LOOP_MS
