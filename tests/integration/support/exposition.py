"""The two formats of /metrics, as their own strict readers see them."""

import subprocess

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_text

from .requests import request

OPEN = "application/openmetrics-text"
# As Prometheus 2.42 asks.
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


def scrape(proxy, accept=None):
    """(content type, text)."""
    headers = {"Accept": accept} if accept else {}
    reply = request(proxy.admin_port, "GET", "/metrics", headers)
    assert reply.status == 200, reply
    return reply.headers["content-type"], reply.body


def series(families):
    """{(name, its labels): value}; none stands twice."""
    samples = [sample for family in families for sample in family.samples]
    found = {(name, *sorted(labels.items())): value for name, labels, value, *_ in samples}
    assert len(found) == len(samples)
    return found


def open_families(proxy):
    kind, text = scrape(proxy, OPEN)
    assert kind == f"{OPEN}; version=1.0.0; charset=utf-8"
    return list(read_open(text))


def check_strictly(proxy):
    """Reads both formats and returns the series of the first: OpenMetrics by the strict parser, the text by that
    parser's elder and by Prometheus' own linter."""
    families = open_families(proxy)
    kind, text = scrape(proxy)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert len(list(read_text(text))) == len(families)
    linted = subprocess.run(
        ["promtool", "check", "metrics"], input=text.encode(), capture_output=True
    )
    said = (linted.stdout + linted.stderr).decode(errors="replace")
    assert linted.returncode == 0 and said == "", said
    return series(families)


def only_growing(proxy):
    """Of everything that must never fall, the series: counters, and what histograms count and add up."""
    growing = [one for one in open_families(proxy) if one.type in ("counter", "histogram")]
    assert len(growing) > 30
    return series(growing)
