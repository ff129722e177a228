"""The Debian package of the build at hand."""

import subprocess

from .proxy import binary
from .waiting import PATIENCE


def reason_against():
    """Why none is made, or None."""
    return "nobody ships a build with sanitizers" if b"__asan_init" in binary().read_bytes() else None


def made_package(folder):
    """The path of one, made in `folder` from what has been built; builds nothing."""
    config = binary().resolve().parent / "CPackConfig.cmake"
    command = ["cpack", "-G", "DEB", "--config", str(config), "-B", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.deb")
    return made
