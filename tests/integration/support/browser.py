"""A real Chromium, and what it says about a page."""

import json

from . import npm
from .proxy import ROOT
from .waiting import PATIENCE, until

PACKAGES = ROOT / "tests/integration/page"
BUILD = ROOT / "build/page-tests"
SCREEN = (1280, 1000)


def fetched(name):
    """The folder of a package of npm, as the lock file of the page's tests has it."""
    return npm.fetched(PACKAGES, BUILD) / name


class Browser:
    """One tab. `text(selector)` and the like look; `network` and `console` tell what it did."""

    def __init__(self, directory):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                     "no-first-run", "disable-background-networking",
                     f"user-data-dir={directory}", f"window-size={SCREEN[0]},{SCREEN[1]}"):  # fmt: skip
            options.add_argument(f"--{word}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(20 * PATIENCE)
        self.driver.set_page_load_timeout(20 * PATIENCE)

    def open(self, proxy):
        self.driver.get(f"http://127.0.0.1:{proxy.admin_port}/")
        until(lambda: self.text("#facts") != "connecting", 15, "the first state is shown")

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def text(self, selector):
        """What all that match have, in one text; empty when nothing does or it is hidden."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())"
            ".map(e => e.innerText).join('\\n')", selector)  # fmt: skip

    def shows(self, selector, words, within=10):
        until(lambda: words in self.text(selector), within, f"{selector} shows {words!r}")

    def cdp(self, command, **values):
        return self.driver.execute_cdp_cmd(command, values)

    def colours(self, scheme):
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])  # fmt: skip

    def size(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=mobile)  # fmt: skip

    def console(self):
        """What went wrong in the page since the last look."""
        return [line["message"] for line in self.driver.get_log("browser")
                if line["level"] in ("SEVERE", "WARNING")]  # fmt: skip

    def requests(self):
        """All addresses that the tab has asked for since the last look."""
        messages = [json.loads(line["message"])["message"]
                    for line in self.driver.get_log("performance")]  # fmt: skip
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]  # fmt: skip

    def violations(self):
        """What axe finds that is serious: (rule, where)."""
        self.run((fetched("axe-core") / "axe.min.js").read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then(found => done(found.violations))")
        return [
            (each["id"], [node["target"] for node in each["nodes"]][:5])
            for each in found if each["impact"] in ("serious", "critical")
        ]  # fmt: skip

    def quit(self):
        self.driver.quit()
