"""What the program is made of and what it needs: hardened code, no privileges, a file system it cannot
write to, and memory that no other process of its user may look into."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from support.proxy import Proxy, binary
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

NOBODY = 65534


def tool(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def program():
    if "__asan_init" in tool("readelf", "--dyn-syms", "-W", binary()):
        pytest.skip("the sanitizers' build has checks of its own in place of these")
    return binary()


@pytest.fixture(scope="module")
def segments(program):
    """(type, flags) of each, as `readelf -lW` has them."""
    rows = re.findall(r"^  (\w+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{3})", tool("readelf", "-lW", program), re.M)
    assert rows
    return rows


# ---- the file


def test_it_is_position_independent(program):
    assert re.search(r"Type: +DYN \(Position-Independent Executable", tool("readelf", "-hW", program))


def test_no_memory_is_both_writable_and_executable(segments):
    assert not [row for row in segments if "W" in row[1] and "E" in row[1]]
    assert ("GNU_STACK", "RW ") in segments


def test_what_the_linker_writes_is_read_only_after_the_start(program, segments):
    """Full RELRO: a table of addresses that nobody can change."""
    assert "GNU_RELRO" in dict(segments)
    dynamic = tool("readelf", "-dW", program)
    assert "BIND_NOW" in dynamic and re.search(r"FLAGS_1\).*NOW", dynamic)


@pytest.fixture(scope="module")
def symbols(program):
    return set(re.findall(r" (\w+)(?:@\S+)?(?: \(\d+\))?$", tool("readelf", "--dyn-syms", "-W", program), re.M))


def test_stacks_are_guarded(symbols):
    assert "__stack_chk_fail" in symbols


def test_calls_of_the_c_library_are_bounded(symbols):
    assert [name for name in symbols if name.startswith("__") and name.endswith("_chk")]


def test_it_can_start_no_other_program(symbols):
    others = {"execve", "execv", "execvp", "execl", "execlp", "system", "popen", "posix_spawn", "fork"}
    assert not others & symbols


def test_indirect_jumps_and_large_frames_are_checked(program):
    """Landing pads of control-flow enforcement, and a probe of each page of a large frame."""
    if os.uname().machine != "x86_64":
        pytest.skip("looks for instructions of x86-64")
    code = tool("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", program)
    assert re.search(r"<main>:\n.*endbr64", code)
    with subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(program)], stdout=subprocess.PIPE, text=True
    ) as dump:
        probed = any(re.search(r"orq? +\$0x0,\(%rsp\)", line) for line in dump.stdout)
        dump.kill()
    assert probed


# ---- the process


class Unprivileged(Proxy):
    """Runs as nobody, with no capability and nothing to gain, on a file system that is read-only but
    for what the kernel makes up."""

    def prepare(self):
        self.directory.chmod(0o755)
        # Where the program was built nobody else may have a way to.
        self.copy = pathlib.Path(tempfile.mkdtemp(prefix="pgbulkhead-program-", dir="/tmp"))
        self.copy.chmod(0o755)
        shutil.copy(binary(), self.copy / "pgbulkhead")
        self.options = ()

    def remove(self):
        super().remove()
        shutil.rmtree(self.copy, ignore_errors=True)


DROP = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs",
        "--bounding-set=-all", "--inh-caps=-all"]
READ_ONLY = ["unshare", "-m", "sh", "-c",
             "mount --make-rprivate / && mount -o remount,bind,ro / && exec \"$@\"", "sh"]


def may_remount():
    """Whether this kernel lets a test have a file system of its own."""
    if os.geteuid() != 0:
        return False
    probe = "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /.pgbulkhead-probe"
    return subprocess.run(["unshare", "-m", "sh", "-c", probe], capture_output=True).returncode == 0


@pytest.fixture
def unprivileged(postgres, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    proxy = Unprivileged(postgres, start=False)
    proxy.prepare()
    proxy.budgets["listen"] = proxy.budgets["listen"][:1]
    proxy.file.write_text(json.dumps(proxy.budgets))
    monkeypatch.setenv("PGBULKHEAD", str(proxy.copy / "pgbulkhead"))
    yield proxy
    try:
        proxy.stop()
    finally:
        proxy.remove()


def status(proxy, name):
    text = pathlib.Path(f"/proc/{proxy.process.pid}/status").read_text()
    return re.search(rf"^{name}:\s*(.*)$", text, re.M).group(1)


def test_it_serves_as_nobody_without_capabilities_on_a_read_only_root(unprivileged, connect):
    read_only = may_remount()
    unprivileged.command = [*(READ_ONLY if read_only else []), *DROP]
    unprivileged.start()
    assert status(unprivileged, "Uid").split() == [str(NOBODY)] * 4
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status(unprivileged, kind), 16) == 0, kind
    assert status(unprivileged, "NoNewPrivs") == "1"
    if read_only:
        mounts = pathlib.Path(f"/proc/{unprivileged.process.pid}/mountinfo").read_text()
        root = next(line for line in mounts.splitlines() if line.split()[4] == "/")
        assert "ro" in root.split()[5].split(",")
    session = connect(unprivileged)
    assert session.value("select 42") == "42"
    unprivileged.signal(1)
    until(
        lambda: unprivileged.metrics().sum("pgbulkhead_config_reloads_total") > 0,
        what="the file was loaded anew",
    )
    assert session.value("select 43") == "43"


def test_its_memory_is_nobody_elses_unless_it_is_told_so(unprivileged):
    """PR_SET_DUMPABLE: no core dump, no debugger of the same user; /proc/PID/mem is root's."""
    unprivileged.command = DROP
    unprivileged.start()
    memory = f"/proc/{unprivileged.process.pid}/mem"
    assert os.stat(memory).st_uid == 0
    unprivileged.stop()
    unprivileged.options = ("--allow-dumps",)
    unprivileged.start()
    assert os.stat(f"/proc/{unprivileged.process.pid}/mem").st_uid == NOBODY
