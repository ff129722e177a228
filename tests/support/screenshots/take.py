"""Stages an overload before a real PostgreSQL and takes pictures of it: the live page in a real
Chromium, `pgbulkhead top` and the demo as a terminal shows them.

usage: take.py FOLDER [--no-demo]
"""

import html
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/integration"))

from support.browser import Browser  # noqa: E402
from support.messages import Q  # noqa: E402
from support.postgres import DATABASE, Postgres  # noqa: E402
from support.proxy import Proxy, binary  # noqa: E402
from support.waiting import until  # noqa: E402
from support.wire import Session  # noqa: E402

WORKLOADS = [
    {"name": "checkout", "match": {"application_name": "checkout"}, "concurrency": 12, "queue": 24,
     "queue_wait": "500ms"},
    {"name": "reports", "match": {"application_name": "reports*"}, "concurrency": 4, "queue": 8,
     "queue_wait": "250ms"},
    {"name": "batch", "match": {"application_name": "batch"}, "concurrency": 3, "queue": 40,
     "queue_wait": "5s"},
    {"name": "search", "match": {"application_name": "search"}, "concurrency": 6, "queue": 0,
     "mode": "shadow"},
    {"name": "default", "concurrency": 4, "queue": 8},
]  # fmt: skip
# Who runs what: clients, a transaction of pgbench.
LOAD = {
    "checkout": (8, "\\set id random(1, 100000)\nselect pg_sleep(0.004), :id;\n\\sleep 6 ms\n"),
    "batch": (6, "select pg_sleep(0.35);\n"),
    "search": (9, "select pg_sleep(0.05);\n\\sleep 20 ms\n"),
}
SURGE = "select customer, sum(total) from pg_sleep(0.4), orders where region = 'north' group by customer"
# How long the load and then the surge are seen in the charts, in seconds.
CALM, STORM = 60, 45


def pgbench(proxy, folder, name, clients, script):
    file = folder / f"{name}.sql"
    file.write_text(script)
    command = ["pgbench", "-n", "-h", "127.0.0.1", "-p", str(proxy.port), "-U", "alice", "-T", "300",
               "-c", str(clients), "-f", str(file), "--max-tries=1000000", DATABASE]  # fmt: skip
    environment = {**os.environ, "PGAPPNAME": name}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Surge:
    """Clients of `reports` that come again a moment after they were refused."""

    def __init__(self, proxy, clients=30):
        self.proxy = proxy
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self):
        names = {"user": "alice", "database": DATABASE, "application_name": "reports"}
        session = Session(self.proxy.address, names)
        while not self.over.wait(random.uniform(0.15, 0.5)):
            session.send(Q(SURGE))
            session.until("Z")
        session.terminate()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def picture_of_text(browser, text, columns, file):
    """As a terminal would show it; the colours are those of `top`."""
    words = html.escape(text)
    words = re.sub(r"\x1b\[1;31m(.*?)\x1b\[0m", r"<b class=red>\1</b>", words)
    words = re.sub(r"\x1b\[1m(.*?)\x1b\[0m", r"<b>\1</b>", words)
    page = file.with_suffix(".html")
    page.write_text(
        "<!doctype html><meta charset=utf-8><style>body{margin:0;background:#11181f;color:#dbe4ec}"
        f"pre{{margin:0;padding:18px;width:{columns}ch;font:14px/1.35 'DejaVu Sans Mono',monospace}}"
        f"b{{color:#fff}}.red{{color:#ff9d92}}</style><pre>{words}</pre>"
    )
    browser.driver.get(page.as_uri())
    width, height = browser.run(
        "const box = document.querySelector('pre').getBoundingClientRect();"
        "return [Math.ceil(box.width), Math.ceil(box.height)]"
    )
    browser.size(width, height)
    browser.driver.save_screenshot(str(file))
    page.unlink()


def pictures_of_page(browser, proxy, folder):
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        browser.driver.save_screenshot(str(folder / f"page-{scheme}.png"))
    browser.colours("light")
    browser.size(390, 844, mobile=True)
    browser.run("scrollTo(0, 0)")
    until(lambda: browser.run("return innerWidth") == 390, what="it is as wide as a phone")
    browser.driver.save_screenshot(str(folder / "page-phone.png"))


def picture_of_top(browser, proxy, folder):
    """Drawn on a terminal of its own, so that it has colours."""
    command = f"stty cols 118 rows 34; timeout 3 {binary()} top --admin http://127.0.0.1:{proxy.admin_port}"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], stdout=subprocess.PIPE, check=False)
    last = done.stdout.decode().split("\x1b[H")[-1].replace("\x1b[K", "").replace("\x1b[J", "")
    picture_of_text(browser, last.replace("\r", "").rstrip(), 118, folder / "top.png")


def picture_of_demo(browser, folder):
    done = subprocess.run([str(ROOT / "scripts/demo")], stdout=subprocess.PIPE, check=True, text=True)
    picture_of_text(browser, done.stdout.rstrip(), 110, folder / "demo.png")


def staged(browser, postgres, proxy, scratch, folder):
    programs = [pgbench(proxy, scratch, name, *load) for name, load in LOAD.items()]
    surge = None
    forgotten = None
    postgres.sql("create table if not exists orders (customer int, total int, region text);"
                 "grant all on orders to alice")
    try:
        browser.size(1100, 900)
        browser.cdp("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(proxy)
        time.sleep(CALM)  # lint: a random moment
        names = {"user": "alice", "database": DATABASE, "application_name": "reports: nightly export"}
        forgotten = Session(proxy.address, names)
        for words in ("begin", "select customer, total from orders where region = 'north' for update"):
            forgotten.query(words)
        surge = Surge(proxy)
        time.sleep(STORM)  # lint: a random moment
        browser.shows("#verdict-title", "reports refuses")
        pictures_of_page(browser, proxy, folder)
        picture_of_top(browser, proxy, folder)
    finally:
        if surge:
            surge.end()
        if forgotten:
            forgotten.terminate()
        for program in programs:
            program.kill()
            program.wait()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        browser = Browser(scratch / "chromium")
        postgres = Postgres()
        proxy = Proxy(postgres, {"workloads": WORKLOADS})
        try:
            staged(browser, postgres, proxy, scratch, folder)
            proxy.stop()
            if "--no-demo" not in sys.argv:
                picture_of_demo(browser, folder)
        finally:
            browser.quit()
            proxy.remove()
            postgres.remove()


if __name__ == "__main__":
    main()
