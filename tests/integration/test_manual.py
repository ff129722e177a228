"""The manual pages and the completions of the three shells know what the program knows."""

import os
import re
import shutil
import subprocess

import pytest

from support.proxy import ROOT, binary, run
from support.waiting import PATIENCE

pytestmark = pytest.mark.needs_proxy

MANUAL = ROOT / "deploy/man"
COMPLETIONS = ROOT / "deploy/completions"


def section(text, name):
    """The words that begin the entries of one section of a help text: `-c,--config` is two."""
    inside = re.search(rf"^{name}:\n((?:  .*\n)+)", text, re.MULTILINE)
    return [word for entry in re.findall(r"^  (\S+)", inside[1], re.MULTILINE) for word in entry.split(",")]


def commands():
    return section(run("--help").stdout, "Subcommands")


def options(*command):
    return section(run(*command, "--help").stdout, "Options")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """An environment that finds the program under its name."""
    folder = tmp_path_factory.mktemp("path")
    (folder / "pgbulkhead").symlink_to(binary().resolve())
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}


# ---- manual pages


@pytest.fixture(scope="module")
def keys_page(tmp_path_factory):
    page = tmp_path_factory.mktemp("man") / "pgbulkhead.yaml.5"
    table = run("check", "--keys").stdout
    made = subprocess.run(
        ["awk", "-f", str(MANUAL / "keys_page.awk")], input=table, capture_output=True, text=True, check=True
    )
    page.write_text(made.stdout)
    return page


def shown(page):
    done = subprocess.run(["mandoc", "-Tascii", str(page)], capture_output=True, text=True, check=True)
    # Bold and underlined letters are a letter, a backspace and a letter.
    return re.sub(r".\x08", "", done.stdout)


def test_the_pages_are_well_formed(keys_page):
    for page in (MANUAL / "pgbulkhead.1", keys_page):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), page


def test_the_manual_has_every_command_and_option_and_no_other():
    text = (MANUAL / "pgbulkhead.1").read_text()
    assert len(commands()) >= 5
    assert re.findall(r"^\.Ss (\S+)$", text, re.MULTILINE) == commands()
    in_common = {"-h", "--help", "-c", "--config"}
    for command in commands():
        part = re.search(rf"^\.Ss {command}\n(.*?)(?=^\.S[hs] )", text, re.MULTILINE | re.DOTALL)[1]
        explained = {f"-{word}" for word in re.findall(r"^\.It Fl (\S+)", part, re.MULTILINE)}
        assert explained == set(options(command)) - in_common, command
        usage = re.search(rf"^\.Cm {command}\n(.*?)(?=^\.Nm|^\.Sh )", text, re.MULTILINE | re.DOTALL)[1]
        named = {f"-{word}" for word in re.findall(r"\bFl (\S+)", usage)}
        assert named == (set(options(command)) - in_common) | (named & {"-c"}), command
        assert ("-c" in named) == ("-c" in options(command)), command


def test_the_page_of_keys_has_every_key_with_its_meaning(keys_page):
    rows = [line.split(" | ") for line in run("check", "--keys").stdout.splitlines()[2:]]
    # Lines are broken at spaces, and behind the hyphens of words that have one.
    text = "".join(shown(keys_page).split())
    assert len(rows) > 50
    for row in rows:
        key, meaning = row[0].strip("| `"), row[6].removesuffix(" |").replace("`", "")
        assert key + "".join(meaning.split()) in text, key


# ---- completions, in the shells themselves


# What is typed, and what must be offered for it.
def cases():
    yield "pgbulkhead ", commands()
    yield "pgbulkhead --", ["--help", "--version"]
    for command in commands():
        yield f"pgbulkhead {command} --", [word for word in options(command) if word.startswith("--")]


def offered_by_bash(line, path):
    script = """
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _pgbulkhead pgbulkhead "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    words = line.split(" ")
    command = ["bash", "-c", script, "bash", str(COMPLETIONS / "pgbulkhead.bash"), *words]
    return subprocess.run(command, env=path, capture_output=True, text=True, check=True).stdout.split()


def offered_by_fish(line, path):
    script = f"source {COMPLETIONS / 'pgbulkhead.fish'}; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], env=path, capture_output=True, text=True, check=True)
    return [each.split("\t")[0] for each in done.stdout.splitlines()]


@pytest.mark.parametrize("offered", [offered_by_bash, offered_by_fish])
def test_a_shell_offers_what_there_is(offered, path):
    for line, wanted in cases():
        assert sorted(offered(line, path)) == sorted(wanted), line


def test_a_shell_offers_files_where_a_file_is_named(path, tmp_path):
    (tmp_path / "budgets.yaml").touch()
    line = f"pgbulkhead run -c {tmp_path}/b"
    assert offered_by_fish(line, path) == [f"{tmp_path}/budgets.yaml"]
    assert offered_by_bash(line, path) == [], "which leaves it to bash: `-o default`"


# zsh completes only for somebody at a terminal; this is its own way to be one.
ZSH = """
    zmodload zsh/zpty
    zpty -b shell zsh -f -i
    zpty -w shell "PS1=; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; print is-\\ready"
    zpty -r shell out '*is-ready*'
    zpty -w -n shell "$2"$'\\t'
    zpty -r shell out "*$3*"
    print -r -- "$out"
"""


def test_zsh_offers_what_there_is(path, tmp_path):
    shutil.copy(COMPLETIONS / "pgbulkhead.zsh", tmp_path / "_pgbulkhead")
    for typed, wanted in (("pgbulkhead ", "Serve clients"), ("pgbulkhead check --", "Print a table")):
        command = ["zsh", "-f", "-c", ZSH, "zsh", str(tmp_path), typed, wanted]
        done = subprocess.run(command, env=path, capture_output=True, text=True, check=False, timeout=20 * PATIENCE)
        assert done.returncode == 0 and wanted in done.stdout, (typed, done)
