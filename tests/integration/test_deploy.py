"""What deploy/ hands to other programs: each is read by the program that it is for."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from support.proxy import ROOT
from support.waiting import PATIENCE, free_port, until

PROMETHEUS = ROOT / "deploy/prometheus"
UNIT = ROOT / "deploy/systemd/pgbulkhead.service"
DOOR = ROOT / "deploy/systemd/pgbulkhead.socket"
# systemd's own scale goes from 0 to 10, and calls what is below 2 OK.
MOST_EXPOSED = 2.0


def ran(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


def names_of(text):
    return set(re.findall(r"\bpgbulkhead_[a-z_]+", text))


def test_each_alert_fires_when_it_should_and_only_then():
    code, said = ran("promtool", "test", "rules", "pgbulkhead.rules.test.yml", cwd=PROMETHEUS)
    assert code == 0 and "SUCCESS" in said, said


def test_each_alert_is_played_and_explained():
    alerts = re.findall(r"alert: (\w+)", (PROMETHEUS / "pgbulkhead.rules.yml").read_text())
    played = (PROMETHEUS / "pgbulkhead.rules.test.yml").read_text()
    explained = (PROMETHEUS / "README.md").read_text()
    assert len(alerts) > 5
    for alert in alerts:
        assert played.count(f"alertname: {alert}\n") == 1, alert
        assert f"{{eval_time: 30m, alertname: {alert}, exp_alerts: []}}" in played, alert
        assert f"| `{alert}` |" in explained, alert


@pytest.mark.needs_proxy
def test_the_alerts_ask_for_metrics_that_there_are(module_proxy, postgres):
    served = names_of(module_proxy(postgres).metrics().text)
    asked = names_of((PROMETHEUS / "pgbulkhead.rules.yml").read_text())
    assert len(asked) > 5
    assert asked - served == set()


# What it names is installed only by a package; all else is systemd's to judge.
def test_systemd_takes_the_units(tmp_path):
    unit, door = tmp_path / UNIT.name, tmp_path / DOOR.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/pgbulkhead", shutil.which("true")))
    shutil.copy(DOOR, door)
    code, said = ran("systemd-analyze", "verify", str(unit), str(door))
    assert code == 0 and "pgbulkhead" not in said, said
    unit.write_text(unit.read_text().replace("NoNewPrivileges", "NoNewPrivilegs"))
    assert "NoNewPrivilegs" in ran("systemd-analyze", "verify", str(unit))[1]


def test_systemd_finds_the_unit_little_exposed():
    code, said = ran("systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT))
    exposed = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said)[1])
    print(f"exposure {exposed}")
    assert exposed <= MOST_EXPOSED, said


# ---- the dashboard, on a Prometheus that scrapes a proxy at work


def dashboard_queries():
    dashboard = json.loads((ROOT / "deploy/grafana/pgbulkhead.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']}: {target['legendFormat']}", target["expr"]


def asked(port, query):
    """The series of an answer."""
    text = query.replace("$__rate_interval", "10s")
    for name, value in (("job", "pgbulkhead"), ("instance", ".+"), ("workload", ".+")):
        text = text.replace(f"${name}", value)
    place = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(place, timeout=10 * PATIENCE) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code == 503:  # it is not ready
            return []
        raise AssertionError(f"{text}: {error.read().decode()}") from None
    except urllib.error.URLError:
        return []


@pytest.fixture
def prometheus(module_proxy, postgres, tmp_path):
    """The port of one, and the proxy that it scrapes."""
    proxy, port = module_proxy(postgres), free_port()
    config = tmp_path / "prometheus.yml"
    job = {"job_name": "pgbulkhead", "static_configs": [{"targets": [f"127.0.0.1:{proxy.admin_port}"]}]}
    # JSON is YAML.
    config.write_text(json.dumps({"global": {"scrape_interval": "500ms"}, "scrape_configs": [job]}))
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}"]
            + [f"--web.listen-address=127.0.0.1:{port}"],
            stdout=log,
            stderr=log,
        )
    yield port, proxy
    process.kill()
    process.wait()


@pytest.mark.needs_proxy
def test_every_query_of_the_dashboard_has_an_answer(prometheus, connect):
    port, proxy = prometheus
    session = connect(proxy)
    silent = dict(dashboard_queries())
    assert len(silent) > 10

    def all_have_answered():
        assert session.value("select 42") == "42"
        for name, query in list(silent.items()):
            if any(each["value"][1] != "NaN" for each in asked(port, query)):
                del silent[name]
        return not silent

    until(all_have_answered, 30, "all have answered")
