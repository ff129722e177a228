"""The live page in a real Chromium: what a person sees and does in an overload."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from support.lanes import Holder
from support.messages import Q
from support.requests import give_token
from support.secrets import secret
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

TOKEN = secret("a-token-of-32-bytes-for-the-page")
WORD = "hunter2"
WORKLOADS = [
    {
        "name": "reports",
        "match": {"application_name": "reports"},
        "concurrency": 2,
        "queue": 1,
        "queue_wait": "60s",
    },
    {"name": "web", "match": {"application_name": "web"}, "concurrency": 8, "queue": 16},
    {"name": "default", "concurrency": 8, "queue": 16},
]


@pytest.fixture(scope="module")
def proxy(postgres, module_proxy):
    proxy = module_proxy(postgres, {"workloads": WORKLOADS})
    give_token(proxy, TOKEN)
    return proxy


@pytest.fixture
def page(browser, proxy):
    """The page, which must have done nothing at the end that a browser complains about."""
    browser.size(1280, 1000)
    browser.colours("light")
    browser.console(), browser.requests()
    browser.open(proxy)
    yield browser
    assert browser.console() == []
    own = f"http://127.0.0.1:{proxy.admin_port}/"
    assert [url for url in browser.requests() if not url.startswith(own)] == []


class Overload:
    """Two hold the budget of `reports`, one waits, and whoever comes is refused."""

    def __init__(self, connect, proxy):
        self.holders = [Holder(connect, proxy, "reports") for _ in range(2)]
        self.holders[0].session.query(f"select '{WORD}' as a, count(*) from t")
        self.waiter = connect(proxy, application_name="reports")
        self.waiter.send(Q("select 1 + 0"))
        until(lambda: proxy.waiting("reports") == 1, what="one waits")
        self.late = connect(proxy, application_name="reports")

    def refuse(self, times=5):
        for _ in range(times):
            self.late.send(Q("select 1 + 0"))
            assert self.late.until("Z")[0].kind == "E"

    def end(self):
        for holder in self.holders:
            holder.release()
        self.waiter.until("Z")


@pytest.fixture
def overload(proxy, connect):
    overload = Overload(connect, proxy)
    overload.refuse()
    yield overload
    overload.end()


def test_an_overload_is_seen_as_it_happens(page, proxy, connect):
    page.shows("#verdict", "Nobody is refused")
    overload = Overload(connect, proxy)
    page.shows("#verdict", "reports: transactions wait")
    overload.refuse()
    page.shows("#verdict-title", "reports refuses")
    page.shows("#verdict-title", "queue_full")
    page.shows("#verdict-text", "2 of 2 running, 1 of 1 waiting")
    page.shows("#verdict-text", "held by reports")
    page.shows("#cards", "✕ refusing")
    page.shows("#cards .reasons", "queue_full")
    page.shows("#holders", "idle in transaction")
    page.shows("#holders", "select ? as a, count(*) from t")
    page.shows("#events", "overload began")
    page.shows("#pools", "entry *")
    assert "overload began" in page.run("return document.getElementById('news').textContent")
    assert WORD not in page.driver.page_source
    meter = "document.querySelector('[aria-labelledby=workload-reports] [role=meter]')"
    assert page.run(f"return {meter}.getAttribute('aria-valuenow')") == "2"
    assert page.run("return document.querySelectorAll('.uplot canvas').length") >= 3
    overload.end()
    page.shows("#cards", "○ idle", 25)


def press(page, *keys):
    ActionChains(page.driver).send_keys(*keys).perform()


def focused(page):
    return page.run("const e = document.activeElement; return e.getAttribute('aria-label') || e.id")


def write_anew(page, text):
    """In the place of what the focused field has."""
    keys = ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
    keys.send_keys(text).perform()


def tab_to(page, name):
    """By the key alone; the page has fewer than fifty places to go to."""
    for _ in range(50):
        if focused(page) == name:
            return
        press(page, Keys.TAB)
    raise AssertionError(f"no way to {name}, at {focused(page)}")


def limit(proxy):
    return proxy.metrics().gauge("concurrency_limit", "reports")


def test_a_budget_is_changed_by_keyboard_with_the_difference_first(page, proxy):
    tab_to(page, "Change reports")
    press(page, Keys.ENTER)
    until(lambda: focused(page) == "change-concurrency", what="the form is open")
    press(page, "3")
    tab_to(page, "change-token")
    press(page, "wrong", Keys.ENTER)
    page.shows("#change-difference", "bearer token")
    assert page.console(), "the refusal is an error to the browser"
    write_anew(page, TOKEN)
    press(page, Keys.ENTER)
    page.shows("#change-difference", "workloads[reports].concurrency 2 → 3")
    assert limit(proxy) == 2
    until(lambda: focused(page) == "change-apply", what="it may be applied")
    press(page, Keys.ENTER)
    page.shows("#change-difference", "In force")
    assert limit(proxy) == 3
    press(page, Keys.ESCAPE)
    page.shows("#cards", "0 of 3 running")
    page.shows("#events", "by http: workloads[reports].concurrency: 2 -> 3")
    page.shows("#facts", "1 value not as in the file")
    stored = page.run("return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert TOKEN not in stored


def test_a_restart_of_the_proxy_is_told_and_survived(page, proxy):
    proxy.stop()
    page.shows("#stale", "does not answer")
    assert page.run("return document.body.classList.contains('is-stale')")
    page.console()
    proxy.start()
    until(lambda: not page.text("#stale"), 20, "it shows what is")
    assert page.run("return document.getElementById('news').textContent")
    page.shows("#cards", "0 of 2 running")
    page.console()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_by_axe(page, overload, scheme):
    page.colours(scheme)
    page.shows("#verdict-title", "reports refuses")
    assert page.violations() == []
    page.run("document.querySelector('[aria-label=\"Change reports\"]').click()")
    assert page.violations() == []
    page.run("document.getElementById('charts').click()")
    page.run("document.getElementById('change-cancel').click()")
    page.shows("#plain", "queue_full")
    assert page.violations() == []
    page.run("document.getElementById('charts').click()")


def too_wide(page):
    """What is wider than a phone."""
    return page.run(
        "const width = document.documentElement.clientWidth;"
        "if (document.documentElement.scrollWidth <= width) return [];"
        "return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1)"
        ".map(e => e.tagName + '.' + e.className)"
    )


def test_a_phone_shows_it_all_without_scrolling_sideways(page, proxy, connect, overload):
    long = connect(proxy, application_name="W" * 63)
    long.query("begin")
    long.query(f'select 1 as "{"M" * 63}"')
    page.size(360, 740, mobile=True)
    page.shows("#verdict-title", "reports refuses")
    assert page.run("return innerWidth") == 360
    assert too_wide(page) == []
    page.run("document.querySelector('[aria-label=\"Change reports\"]').click()")
    assert too_wide(page) == []
    page.run("document.getElementById('change-cancel').click()")
    page.run("document.getElementById('charts').click()")
    page.shows("#plain", "queue_full")
    page.shows("#holders", "W" * 63)
    assert too_wide(page) == []
    page.run("document.getElementById('charts').click()")
    long.query("rollback")
