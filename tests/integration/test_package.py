"""The Debian package: made from the build at hand, unpacked and read."""

import pathlib
import re
import subprocess

import pytest

from support.package import made_package, reason_against
from support.proxy import ROOT, binary
from support.waiting import PATIENCE

pytestmark = pytest.mark.needs_proxy

# What lintian says against a package that no Debian maintainer made: whoever makes it is root@localhost unless
# PGB_CONTACT says otherwise, the changelog is the project's own, and systemctl is asked to end the units.
KNOWN = {
    "bogus-mail-host",
    "root-in-contact",
    "syntax-error-in-debian-changelog",
    "maintainer-script-calls-systemctl",
}


def ran(*command):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=120 * PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if why := reason_against():
        pytest.skip(why)
    return made_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    ran("dpkg-deb", "--extract", package, folder)
    return folder


@pytest.fixture(scope="module")
def control(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("control")
    ran("dpkg-deb", "--control", package, folder)
    return folder


def test_what_it_is_and_needs(package):
    fields = dict(re.findall(r"^ ?([A-Z]\S+): (.*)$", ran("dpkg-deb", "--field", package), re.MULTILINE))
    version = ran(binary(), "--version").split()[1]
    architecture = ran("dpkg", "--print-architecture").strip()
    assert (fields["Package"], fields["Version"], fields["Architecture"]) == ("pgbulkhead", version, architecture)
    assert package.name == f"pgbulkhead_{version}_{architecture}.deb"
    needed = {each.split()[0] for each in fields["Depends"].split(", ")}
    assert {"libc6", "libpq5", "libuv1", "libssl3"} <= needed
    assert not {"systemd", "postgresql-15"} & needed


def test_its_program_runs_from_where_it_was_unpacked(unpacked):
    program = unpacked / "usr/bin/pgbulkhead"
    assert ran(program, "--version") == ran(binary(), "--version")
    assert program.stat().st_mode & 0o7777 == 0o755
    said = ran(program, "check", "-c", unpacked / "etc/pgbulkhead/budgets.yaml")
    assert "method: passthrough" in said


def test_the_budgets_of_a_machine_survive_an_upgrade(control, unpacked):
    assert (control / "conffiles").read_text() == "/etc/pgbulkhead/budgets.yaml\n"
    configured = [path for path in (unpacked / "etc").rglob("*") if path.is_file()]
    assert [f"/{path.relative_to(unpacked)}" for path in configured] == ["/etc/pgbulkhead/budgets.yaml"]


def test_what_its_units_name_is_in_it(unpacked):
    units = unpacked / "usr/lib/systemd/system"
    assert (units / "pgbulkhead.socket").read_bytes() == (ROOT / "deploy/systemd/pgbulkhead.socket").read_bytes()
    unit = (units / "pgbulkhead.service").read_text()
    named = set(re.findall(r"(?<=[= ])/(?:usr|etc)/\S*pgbulkhead\S*", unit))
    assert named == {"/usr/bin/pgbulkhead", "/etc/pgbulkhead/budgets.yaml"}
    assert all((unpacked / path.lstrip("/")).is_file() for path in named)


def test_installing_makes_a_user_that_secrets_can_be_given_to(unpacked, tmp_path):
    rules = tmp_path / "usr/lib/sysusers.d"
    rules.mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (rules / "pgbulkhead.conf").write_text((unpacked / "usr/lib/sysusers.d/pgbulkhead.conf").read_text())
    ran("systemd-sysusers", f"--root={tmp_path}", "pgbulkhead.conf")
    user, *_, shell = (tmp_path / "etc/passwd").read_text().strip().split(":")
    assert user == "pgbulkhead" and shell.endswith("nologin")


def test_its_scripts_are_shell_and_need_no_systemd(control):
    scripts = [control / name for name in ("postinst", "prerm", "postrm")]
    for script in scripts:
        ran("shellcheck", script)
        assert script.stat().st_mode & 0o777 == 0o755
    if not pathlib.Path("/run/systemd/system").exists():
        ran(control / "prerm", "remove")
        ran(control / "postrm", "remove")


def test_manual_pages_and_completions_are_where_programs_look(unpacked):
    share = unpacked / "usr/share"
    for place in ("bash-completion/completions/pgbulkhead", "zsh/vendor-completions/_pgbulkhead",
                  "fish/vendor_completions.d/pgbulkhead.fish", "doc/pgbulkhead/examples/budgets.example.yaml"):  # fmt: skip
        assert (share / place).is_file(), place
    for page, words in (("man1/pgbulkhead.1.gz", "admission proxy"), ("man5/pgbulkhead.yaml.5.gz", "Durations carry a unit")):
        assert words in ran("mandoc", "-Tascii", share / "man" / page)


def test_lintian_has_nothing_else_against_it(package):
    done = subprocess.run(
        ["lintian", "--allow-root", str(package)], capture_output=True, text=True, check=False, timeout=120 * PATIENCE
    )
    said = [line for line in done.stdout.splitlines() if re.match("[EW]: ", line)]
    others = [line for line in said if line.split()[2] not in KNOWN]
    assert others == [] and len(said) >= 1, done.stdout + done.stderr
