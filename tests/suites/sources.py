"""Sources from Debian, with lists of their own: the system's stay as they are."""

import pathlib
import re
import subprocess
import sys

WHERE = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def build(command, folder):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        sys.exit(f"suites: {' '.join(map(str, command))} in {folder}:\n{done.stdout[-2000:]}")
    return done.stdout


def _apt(folder):
    """Options that make apt look at the sources of the same archives as the system's packages."""
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources_list = folder / "sources.list"
    options = [
        "-o", f"Dir::Etc::sourcelist={sources_list}",
        "-o", "Dir::Etc::sourceparts=/dev/null",
        "-o", f"Dir::State::lists={lists}",
    ]  # fmt: skip
    if not sources_list.exists():
        words = ["apt-get", "indextargets", "--format", WHERE]
        places = build([*words, "Created-By: Packages", "Origin: Debian"], folder)
        lines = {f"deb-src [signed-by={KEYRING}] {place}" for place in places.splitlines()}
        sources_list.write_text("\n".join(sorted(lines)) + "\n")
        build(["apt-get", *options, "update", "-qq"], folder)
    return options


def _download(package, folder):
    """The upstream archive. A version that the archive has replaced since is passed over."""
    options = _apt(folder)
    described = build(["apt-cache", *options, "showsrc", "--only-source", package], folder)
    for version in re.findall(r"^Version: (\S+)", described, re.MULTILINE):
        words = ["apt-get", *options, "source", "-qq", "--download-only", f"{package}={version}"]
        subprocess.run(words, cwd=folder, check=False, capture_output=True)
        found = sorted(folder.glob(f"{package}_*.orig.tar.*"))
        found = [path for path in found if path.suffix != ".asc"]
        if found:
            return found[-1]
    sys.exit(f"suites: no source of {package} can be had")


def unpack_packages(packages, folder):
    """Debian's binary packages, unpacked and not installed, in a folder."""
    target = pathlib.Path(folder) / "-".join(packages)[:60]
    if not target.exists():
        archives = folder / "archives"
        archives.mkdir(exist_ok=True)
        build(["apt-get", "download", *packages], archives)
        for package in packages:
            for archive in archives.glob(f"{package}_*.deb"):
                build(["dpkg", "-x", archive, target], folder)
    return target


def unpack(package, folder):
    """The unpacked upstream source, downloaded when it is not there yet."""
    target = pathlib.Path(folder) / package
    if not target.exists():
        archive = _download(package, folder)
        target.mkdir()
        build(["tar", "-xf", archive, "-C", target, "--strip-components=1"], folder)
    return target
