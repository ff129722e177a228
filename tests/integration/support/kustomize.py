"""As much of kustomize as deploy/kubernetes uses; what it does not know it refuses."""

import copy

import yaml

KNOWN = {"apiVersion", "kind", "resources", "patches", "images", "configMapGenerator", "secretGenerator"}


def build(folder):
    """The objects of a folder with a kustomization.yaml, as kubectl would send them."""
    plan = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert set(plan) <= KNOWN, set(plan) - KNOWN
    objects = []
    for name in plan["resources"]:
        place = folder / name
        objects += build(place) if place.is_dir() else list(yaml.safe_load_all(place.read_text()))
    for entry in plan.get("configMapGenerator", []):
        _generate(objects, "ConfigMap", entry, _files(folder, entry))
    for entry in plan.get("secretGenerator", []):
        _generate(objects, "Secret", entry, _lines(folder, entry))
    for entry in plan.get("patches", []):
        assert set(entry) == {"path"}, entry
        patch = yaml.safe_load((folder / entry["path"]).read_text())
        place = objects.index(_one(objects, patch["kind"], patch["metadata"]["name"]))
        objects[place] = _laid_over(objects[place], patch)
    for entry in plan.get("images", []):
        _rename(objects, entry)
    return objects


def _one(objects, kind, name):
    (found,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def _files(folder, entry):
    assert set(entry) <= {"name", "files", "options", "behavior"}, entry
    return {name: (folder / name).read_text() for name in entry["files"]}


def _lines(folder, entry):
    assert set(entry) <= {"name", "envs"}, entry
    text = "".join((folder / name).read_text() for name in entry["envs"])
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


def _generate(objects, kind, entry, data):
    key = "data" if kind == "ConfigMap" else "stringData"
    if entry.get("behavior") == "replace":
        _one(objects, kind, entry["name"])[key] = data
    else:
        assert "behavior" not in entry
        objects.append({"apiVersion": "v1", "kind": kind, "metadata": {"name": entry["name"]}, key: data})


def _laid_over(base, patch):
    """A strategic merge: mappings key by key, lists of what has a name by name, all else replaced."""
    if isinstance(base, dict) and isinstance(patch, dict):
        result = copy.copy(base)
        for key, value in patch.items():
            result[key] = _laid_over(base[key], value) if key in base else value
        return result
    if isinstance(base, list) and all(isinstance(each, dict) and "name" in each for each in base + patch):
        later = {each["name"]: each for each in patch}
        result = [_laid_over(each, later.pop(each["name"], {})) for each in base]
        return result + list(later.values())
    return patch


def _rename(objects, entry):
    assert set(entry) <= {"name", "newName", "newTag"}, entry
    for each in objects:
        spec = each.get("spec", {}).get("template", {}).get("spec", {})
        for container in spec.get("containers", []) + spec.get("initContainers", []):
            if container["image"] == entry["name"]:
                container["image"] = f"{entry.get('newName', entry['name'])}:{entry['newTag']}"
