"""What a process has used: processor time from /proc, and system calls counted from outside."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
from typing import NamedTuple

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
TRACEPOINT = "raw_syscalls:sys_enter"


class ProcessorTime(NamedTuple):
    """Nanoseconds of all threads together."""

    total: int
    user: int
    system: int

    def __sub__(self, earlier):
        return ProcessorTime(*(mine - its for mine, its in zip(self, earlier)))


def processor_time(pid):
    """The total comes from the scheduler in nanoseconds; its split from the ticks of /proc/PID/stat, which the kernel
    itself scales to the total.
    """
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    after_name = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = (int(ticks) * TICK_NS for ticks in after_name[11:13])
    return ProcessorTime(total, user, system)


class SyscallCounter:
    """Counts the system calls of a process from start() to stop(): by perf's tracepoint where the machine has one,
    else by strace, which slows the process down but counts as exactly.
    """

    def __init__(self, pid):
        self._pid = str(pid)
        self._process = None
        self._file = tempfile.NamedTemporaryFile(prefix="pgbulkhead-syscalls-")

    def start(self):
        if perf_can_count():
            command = ["perf", "stat", "-x,", "-o", self._file.name, "-e", TRACEPOINT, "-p", self._pid]
        else:
            command = ["strace", "-c", "-f", "-o", self._file.name, "-p", self._pid]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def stop(self):
        self._process.send_signal(signal.SIGINT)
        self._process.wait(20)
        text = pathlib.Path(self._file.name).read_text()
        self._file.close()
        if TRACEPOINT in text:
            return int(re.search(rf"^(\d+),.*{TRACEPOINT}", text, re.MULTILINE)[1])
        return int(re.search(r"^100\.00\s+\S+\s+\S*\s+(\d+)\s.*total$", text, re.MULTILINE)[1])


def perf_can_count():
    if not hasattr(perf_can_count, "answer"):
        perf_can_count.answer = bool(shutil.which("perf")) and subprocess.run(
            ["perf", "stat", "-e", TRACEPOINT, "true"], capture_output=True).returncode == 0
    return perf_can_count.answer
