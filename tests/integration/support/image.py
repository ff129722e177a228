"""Containers by podman, in a store of the test's own, on a base that is this machine's own Debian."""

import os
import pathlib
import re
import shutil
import subprocess

from .waiting import PATIENCE

INFO = pathlib.Path("/var/lib/dpkg/info")
STATUS = pathlib.Path("/var/lib/dpkg/status")
# What no package says that it needs: the links that make one /usr of all, the choice of awk, where apt gets packages.
LOOSE = ["/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives/awk", "/usr/bin/awk", "/etc/ld.so.cache",
         "/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"]  # fmt: skip
# The machine may not be allowed to raise limits, and to make groups for containers.
LIMITS = ["--cgroups=disabled", "--ulimit=nofile=1024:1024", "--ulimit=nproc=512:512"]


def essential_packages():
    """The names in `dpkg`'s own books of what Debian cannot do without, apt, and all that they need."""
    form = "${binary:Package}\\t${Package}\\t${Essential}\\t${Pre-Depends}, ${Depends}\\t${Provides}\\n"
    listed = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout
    needs, named, wanted = {}, {}, {"apt"}
    for line in listed.splitlines():
        own, plain, essential, depends, provides = line.split("\t")
        needs[own] = depends
        for name in (plain, *re.findall(r"[a-z0-9][a-z0-9.+-]+(?=[ ,]|$)", provides)):
            named.setdefault(name, own)
        named[plain] = own
        if essential == "yes":
            wanted.add(plain)
    chosen = set()
    while wanted:
        own = named[wanted.pop()]
        if own in chosen:
            continue
        chosen.add(own)
        for need in filter(None, needs[own].split(", ")):
            choices = [re.split(r"[ :(]", choice)[0] for choice in need.split(" | ")]
            wanted.update([choice for choice in choices if choice in named][:1])
    return chosen


def base_archive(folder):
    """A tar archive that is a small Debian of the same version: the files of those packages, and apt's books."""
    packages, root = essential_packages(), folder / "base"
    paths = set(LOOSE)
    for package in packages:
        paths.update((INFO / f"{package}.list").read_text().split("\n"))
        paths.update(str(path) for path in INFO.glob(f"{package}.*"))
    keep = {_real(path) for path in paths if path and os.path.lexists(path)}
    keep = {path for path in keep if not re.match("/usr/share/(doc|man|locale|info)/", path)}
    (folder / "names").write_text("\n".join(sorted(path.lstrip("/") for path in keep - {"/"})))
    root.mkdir()
    copy = f"tar -C / --no-recursion -cf - -T {folder}/names | tar -C {root} -xpf -"
    subprocess.run(["bash", "-o", "pipefail", "-c", copy], check=True)
    names = {package.split(":")[0] for package in packages}
    books = [entry for entry in STATUS.read_text().split("\n\n") if re.match(r"Package: (\S+)", entry)
             and re.match(r"Package: (\S+)", entry)[1] in names]  # fmt: skip
    (root / "var/lib/dpkg").mkdir(parents=True, exist_ok=True)
    (root / "var/lib/dpkg/status").write_text("\n\n".join(books) + "\n\n")
    for name in ("passwd", "group"):
        shutil.copy(f"/usr/share/base-passwd/{name}.master", root / f"etc/{name}")
    for made in ("tmp", "proc", "sys", "dev", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
        (root / made).mkdir(parents=True, exist_ok=True)
    archive = folder / "base.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    shutil.rmtree(root)
    return archive


def _real(path):
    """The path without links on its way."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


class Podman:
    """One store of images and containers, which `remove` takes away."""

    def __init__(self, folder):
        self.folder = folder
        self._config = folder / "storage.conf"
        self.env = {**os.environ, "CONTAINERS_STORAGE_CONF": str(self._config), "BUILDAH_ISOLATION": "chroot",
                    "PODMAN_IGNORE_CGROUPSV1_WARNING": "1", "TMPDIR": str(folder)}  # fmt: skip
        # Layers over each other where the machine has that, copies of all of it otherwise.
        for driver in ("overlay", "vfs"):
            place = f'graphroot = "{folder}/{driver}"\nrunroot = "{folder}/run-{driver}"\n'
            self._config.write_text(f'[storage]\ndriver = "{driver}"\n{place}')
            if self.run("podman", "info")[0] == 0:
                break

    def run(self, *command, within=60):
        """(exit code, what it says)."""
        done = subprocess.run(
            list(map(str, command)), env=self.env, capture_output=True, text=True, check=False,
            timeout=within * PATIENCE)  # fmt: skip
        return done.returncode, (done.stdout + done.stderr).strip()

    def must(self, *command, within=60):
        code, said = self.run(*command, within=within)
        assert code == 0, (command, said)
        return said

    def reason_against(self, archive, name):
        """Imports the archive as the image `name`. Why no container of it can run on this machine, or None."""
        self.must("podman", "import", archive, name)
        code, said = self.run("podman", "run", "--rm", "--read-only", "--network=host", *LIMITS,
                              name, "true")  # fmt: skip
        return f"podman cannot run a container here: {said.splitlines()[-1]}" if code else None

    def remove(self):
        self.run("podman", "rm", "--all", "--force", "--time=0")
        self.run("podman", "rmi", "--all", "--force")
