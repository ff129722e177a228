"""The Debian package of the build at hand."""

import subprocess

import pytest

from .proxy import binary
from .waiting import PATIENCE


def ran(*command):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=120 * PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_package(folder):
    """The path of the package, made in `folder`."""
    if b"__asan_init" in binary().read_bytes():
        pytest.skip("nobody ships a build with sanitizers")
    build = binary().resolve().parent
    ran("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", folder)
    (made,) = folder.glob("*.deb")
    return made
