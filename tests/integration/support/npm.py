"""Packages of npm, by the lock file beside their package.json."""

import shutil
import subprocess


def fetched(sources, build):
    """The folder `node_modules` in `build`, as the lock file in `sources` has it."""
    lock = (sources / "package-lock.json").read_bytes()
    stamp = build / "fetched"
    if not stamp.exists() or stamp.read_bytes() != lock:
        build.mkdir(parents=True, exist_ok=True)
        for source in ("package.json", "package-lock.json"):
            shutil.copy(sources / source, build)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        subprocess.run(command, cwd=build, check=True)
        stamp.write_bytes(lock)
    return build / "node_modules"
