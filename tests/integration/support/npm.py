"""Packages of npm, by the lock file beside their package.json."""

import fcntl
import shutil
import subprocess


def fetched(sources, build):
    """The folder `node_modules` in `build`, as the lock file in `sources` has it."""
    wanted = (sources / "package-lock.json").read_bytes()
    stamp = build / "fetched"
    build.mkdir(parents=True, exist_ok=True)
    # Files of tests that run at once may want the same.
    with open(build / "lock", "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != wanted:
            for source in ("package.json", "package-lock.json"):
                shutil.copy(sources / source, build)
            command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
            subprocess.run(command, cwd=build, check=True)
            stamp.write_bytes(wanted)
    return build / "node_modules"
