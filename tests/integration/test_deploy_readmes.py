"""What the readmes of deploy/ have their reader type: the files are there, and the programs know the words."""

import re
import subprocess

import pytest

from support.proxy import ROOT, run

pytestmark = pytest.mark.needs_proxy

READMES = sorted((ROOT / "deploy").rglob("README.md"))


def typed(readme):
    """The commands in the blocks of a readme, without their comments; a line that goes on is one."""
    for block in re.findall(r"^```\w*\n(.*?)^```", readme.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            yield re.sub(r"\s#\s.*", "", line).strip()


COMMANDS = [(readme.parent.name, line) for readme in READMES for line in typed(readme)]


def test_there_are_commands():
    assert {"deploy", "compose", "kubernetes", "systemd"} <= {name for name, _ in COMMANDS}
    assert len(COMMANDS) > 20


def test_the_files_that_are_named_are_there():
    named = {path for _, line in COMMANDS for path in re.findall(r"(?<![\w./])(?:deploy|scripts|config)/[\w./-]+", line)}
    assert len(named) > 8
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_the_program_knows_the_words():
    """Behind the name of the program, which is also that of images, containers and units, comes one of its commands."""
    known = {}
    checked = 0
    for _, line in COMMANDS:
        for command, words in re.findall(r"\bpgbulkhead (check|run|explain|plan|top|healthcheck)\b([^|;&]*)", line):
            known.setdefault(command, run(command, "--help").stdout)
            for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", words):
                assert re.search(rf"^  (?:-\w,)?{option}\b", known[command], re.MULTILINE), line
                checked += 1
    assert checked >= 4


def test_the_scripts_know_the_words():
    checked = 0
    for _, line in COMMANDS:
        for script, words in re.findall(r"(?<![\w./])(scripts/\w+)([^|;&]*)", line):
            usage = subprocess.run([ROOT / script, "-h"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"(?<!\S)--[a-z][\w-]*", words):
                assert f"{option} " in usage or f"{option}]" in usage, line
                checked += 1
    assert checked >= 1
