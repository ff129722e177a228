"""A systemd of its own as the first process of a namespace, over a copy of the machine's files that is thrown away.

Its network is the machine's; its files, processes, mounts and control groups are its own.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

from .waiting import until

SYSTEMD = "/lib/systemd/systemd"
# Runs as the first process of a new pid namespace, in mounts of its own. $1: a folder for all of it.
BOOT = r"""
set -e
mount --make-rprivate /
mount -t tmpfs none "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
cd "$1/root"
mount -t proc proc proc
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs none run
rm -rf etc/systemd/system/*
tar -xf "$2" -C .
mount -t tmpfs none tmp
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . \
    /lib/systemd/systemd --system --unit=trial.target --show-status=0 --log-target=console
"""
ALONE = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--cgroup"]


def reason_against():
    """Why there can be none on this machine, or None."""
    if os.geteuid() != 0:
        return "it takes root to make a namespace with a systemd in it"
    if not pathlib.Path(SYSTEMD).exists():
        return f"there is no {SYSTEMD}"
    probe = "mount -t tmpfs none /tmp; mkdir /tmp/up /tmp/work; mount -t cgroup2 none /sys/fs/cgroup"
    overlay = "mount -t overlay none -o lowerdir=/,upperdir=/tmp/up,workdir=/tmp/work /mnt"
    done = subprocess.run(
        [*ALONE, "sh", "-ec", f"{probe}; {overlay}"], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() if done.returncode else None


class Systemd:
    """`files`: a tar archive that is unpacked over the root before it starts."""

    def __init__(self, folder, files):
        self._log = folder / "systemd.log"
        root = folder / "machine"
        root.mkdir()
        self._group = ControlGroup(folder)
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [*ALONE, "bash", "-c", BOOT, "boot", str(root), str(files)],
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=self._group.enter,
            )
        try:
            self._first = until(self._child, within=10, what="the first process is there")
            until(lambda: self.run("systemctl", "is-system-running") in ("running", "degraded"), 20, "it has come up")
        except AssertionError:
            self.end()
            raise AssertionError(self._log.read_text(errors="replace")) from None

    def _child(self):
        assert self._process.poll() is None, self._log.read_text(errors="replace")
        children = pathlib.Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        is_there = children and pathlib.Path(f"/proc/{children[0]}/comm").read_text().strip() == "systemd"
        return int(children[0]) if is_there else None

    def run(self, *command):
        """What the command says inside, without its last line end."""
        inside = ["nsenter", "-t", str(self._first), "-p", "-m", "-u", "-i", "-r", "-w"]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip()

    def show(self, unit, *names):
        """Properties of a unit, as text."""
        said = self.run("systemctl", "show", unit, *(f"--property={name}" for name in names))
        shown = dict(line.split("=", 1) for line in said.splitlines())
        return [shown[name] for name in names]

    def read(self, path):
        return self.run("cat", path)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._group.remove()


class ControlGroup:
    """One for all processes of a test, so that the systemd in it takes it for the root of all."""

    def __init__(self, folder):
        self._top = folder / "groups"
        self._top.mkdir()
        subprocess.run(["mount", "-t", "cgroup2", "none", str(self._top)], check=True)
        self._group = self._top / f"pgbulkhead-trial-{os.getpid()}"
        self._group.mkdir()

    def enter(self):
        (self._group / "cgroup.procs").write_text("0")

    def remove(self):
        """Its processes are being killed; a group goes when the last of them has."""
        until(self._is_gone, what="the processes of the test have ended")
        subprocess.run(["umount", str(self._top)], check=True)

    def _is_gone(self):
        for inner in sorted(self._group.rglob("*/"), key=lambda path: -len(path.parts)):
            with contextlib.suppress(OSError):
                inner.rmdir()
        with contextlib.suppress(OSError):
            self._group.rmdir()
        return not self._group.exists()


def archive(folder, files):
    """A tar archive of `files`: path below the root -> a text, or a Path that is copied."""
    tree = folder / "tree"
    for path, content in files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pathlib.Path):
            shutil.copy(content, place)
        else:
            place.write_text(content)
    subprocess.run(["tar", "-cf", str(folder / "files.tar"), "--owner=0", "--group=0", "-C", str(tree), "."], check=True)
    return folder / "files.tar"
