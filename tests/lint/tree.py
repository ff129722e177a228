"""The files of the project, for all lints: what git tracks and what it would track."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CXX = (".h", ".cpp")
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__", ".pytest_cache", "node_modules"}


def files(root=ROOT):
    """Paths relative to `root`, sorted. Without git (a source archive) the folder is walked."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "-co"]
    listing = subprocess.run(command + ["--exclude-standard"], capture_output=True, check=False)
    if listing.returncode == 0:
        found = [Path(name) for name in os.fsdecode(listing.stdout).split("\0") if name]
    else:
        found = [path.relative_to(root) for path in root.rglob("*")]
        found = [path for path in found if not SKIPPED_FOLDERS.intersection(path.parts)]
    return sorted({path for path in found if (root / path).is_file()})


def read(path, root=ROOT):
    """The file's text, or None when it is not text."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def program(path, text):
    """The language of a hand-written program: 'c++', 'python', 'shell', 'cmake', 'js' or None."""
    by_suffix = {".h": "c++", ".cpp": "c++", ".py": "python", ".sh": "shell", ".cmake": "cmake"}
    by_suffix.update({".js": "js", ".mjs": "js", ".ts": "js"})
    if path.suffix in by_suffix:
        return by_suffix[path.suffix]
    if path.name == "CMakeLists.txt":
        return "cmake"
    first_line = text.partition("\n")[0]
    if first_line.startswith("#!"):
        if "python" in first_line:
            return "python"
        if first_line.rstrip().endswith("sh"):
            return "shell"
    return None
