"""deploy/kubernetes: valid by the schemas of its kinds, and of one mind with itself and with the budgets."""

import copy
import json
import re
import shutil
import subprocess

import pytest
import yaml

from support.kustomize import build
from support.npm import fetched
from support.proxy import ROOT, run

pytestmark = pytest.mark.needs_proxy

MANIFESTS = ROOT / "deploy/kubernetes"
SCHEMAS = ROOT / "tests/integration/manifests"
PLACES = ["base", "production"]


@pytest.fixture(scope="module")
def complaints():
    """What the schemas have against objects."""
    place = ROOT / "build/manifests"
    fetched(SCHEMAS, place)

    def ask(objects):
        # Beside the packages, where node looks for them.
        shutil.copy(SCHEMAS / "validate.mjs", place)
        done = subprocess.run(
            ["node", "validate.mjs"], input=json.dumps(objects), cwd=place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


class Pod:
    """What one folder makes, and its parts by name."""

    def __init__(self, place):
        self.objects = build(MANIFESTS / place)
        self.deployment = self.one("Deployment")["spec"]
        self.template = self.deployment["template"]
        self.spec = self.template["spec"]
        (self.proxy,) = self.spec["initContainers"]
        (self.app,) = self.spec["containers"]
        self.file = self.one("ConfigMap")["data"]["budgets.yaml"]
        self.budgets = yaml.safe_load(self.file)

    def one(self, kind):
        (found,) = [each for each in self.objects if each["kind"] == kind]
        return found


@pytest.fixture(params=PLACES)
def pod(request):
    return Pod(request.param)


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


def test_the_schemas_have_nothing_against_it(pod, complaints):
    assert {"Deployment", "ConfigMap", "Secret", "NetworkPolicy", "PodMonitor"} <= {each["kind"] for each in pod.objects}
    assert complaints(pod.objects) == []


def test_the_schemas_find_what_is_wrong_and_what_is_misspelled(complaints):
    pod = Pod("base")
    pod.proxy["startupProbe"]["periodSeconds"] = "often"
    assert "periodSeconds" in complaints(pod.objects)[0]
    pod = Pod("base")
    pod.proxy["restartPolicies"] = pod.proxy.pop("restartPolicy")
    assert complaints(pod.objects) == [
        "Deployment shop: /spec/template/spec/initContainers/0/restartPolicies is no field"
    ]


def test_the_proxy_is_a_native_sidecar_that_is_nobody(pod):
    assert pod.proxy["restartPolicy"] == "Always"
    assert "readinessProbe" not in pod.proxy
    for container in (pod.proxy, pod.app):
        rights = container["securityContext"]
        assert rights["runAsUser"] != 0 and rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"]
    assert pod.spec["securityContext"]["runAsNonRoot"]
    assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    image = (ROOT / "Dockerfile").read_text()
    assert f"USER {pod.proxy['securityContext']['runAsUser']}:{pod.spec['securityContext']['fsGroup']}\n" in image


def test_the_image_is_of_this_version(pod):
    assert pod.proxy["image"] == "pgbulkhead:" + run("--version").stdout.split()[1]


def test_what_is_named_is_there(pod):
    volumes = {each["name"]: each for each in pod.spec["volumes"]}
    mounted = {mount["name"] for each in (pod.proxy, pod.app) for mount in each["volumeMounts"]}
    assert mounted == set(volumes)
    assert all("subPath" not in mount for mount in pod.proxy["volumeMounts"]), "an edited ConfigMap would not be seen"
    assert volumes["budgets"]["configMap"]["name"] == pod.one("ConfigMap")["metadata"]["name"]
    assert pod.proxy["envFrom"] == [{"secretRef": {"name": pod.one("Secret")["metadata"]["name"]}}]
    folder = pod.proxy["args"][-1].rsplit("/", 1)
    (budgets,) = [mount for mount in pod.proxy["volumeMounts"] if mount["name"] == "budgets"]
    assert [budgets["mountPath"], "budgets.yaml"] == folder
    doors = [mount["mountPath"] for each in (pod.proxy, pod.app) for mount in each["volumeMounts"] if mount["name"] == "door"]
    assert doors == [pod.budgets["listen"][1]["unix_socket_dir"]] * 2
    environment = {each["name"]: each["value"] for each in pod.app["env"]}
    assert environment["PGHOST"] == doors[0] and environment["PGPORT"] == str(pod.budgets["listen"][1]["port"])


def test_every_selector_means_the_pod(pod):
    labels = pod.template["metadata"]["labels"]
    selectors = [pod.deployment["selector"]]
    selectors += [pod.one("NetworkPolicy")["spec"]["podSelector"], pod.one("PodMonitor")["spec"]["selector"]]
    selectors += [each["spec"]["selector"] for each in pod.objects if each["kind"] == "PodDisruptionBudget"]
    assert all(selector == {"matchLabels": labels} for selector in selectors)


def test_the_probes_and_prometheus_ask_where_the_proxy_answers(pod):
    host, port = pod.budgets["admin"]["probes"].rsplit(":", 1)
    assert host == "0.0.0.0", "the kubelet does not come by loopback"
    assert pod.proxy["ports"] == [{"name": "probes", "containerPort": int(port)}]
    for probe in ("startupProbe", "livenessProbe"):
        assert pod.proxy[probe]["httpGet"] == {"path": "/healthz", "port": "probes"}
    (endpoint,) = pod.one("PodMonitor")["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("probes", "/metrics")
    assert {"targetLabel": "job", "replacement": "pgbulkhead"} in endpoint["relabelings"]
    opened = [each["port"] for rule in pod.one("NetworkPolicy")["spec"]["ingress"] for each in rule["ports"]]
    assert opened == [int(port)]


def test_nothing_else_of_the_proxy_can_be_reached_from_outside_the_pod(pod):
    assert [door.get("address", "127.0.0.1") for door in pod.budgets["listen"]] == ["127.0.0.1"] * 2
    assert pod.budgets["admin"]["http"].startswith("127.0.0.1:")


def checked(text, tmp_path, secret):
    file = tmp_path / "budgets.yaml"
    file.write_text(text)
    return run("check", "-c", file, env=secret["stringData"])


def test_the_budgets_are_right_without_a_warning(pod, tmp_path):
    done = checked(pod.file, tmp_path, pod.one("Secret"))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_fleet_of_the_budgets_is_the_deployment(pod, tmp_path):
    fleet = pod.budgets["fleet"]
    assert fleet["instances"] == pod.deployment["replicas"]
    assert fleet["surge"] == pod.deployment["strategy"]["rollingUpdate"]["maxSurge"]
    too_many = copy.deepcopy(pod.budgets)
    too_many["fleet"]["instances"] *= 10
    done = checked(json.dumps(too_many), tmp_path, pod.one("Secret"))
    assert done.returncode == 2 and "PGB-CFG-043" in done.stderr


def test_there_is_time_for_one_end_after_the_other(pod):
    before = int(pod.app["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = pod.budgets["drain"]
    assert seconds(drain["delay"]) == 0, "nobody is sent to a sidecar"
    # The application has what is left for its own end.
    assert pod.spec["terminationGracePeriodSeconds"] - before - seconds(drain["timeout"]) >= 20
