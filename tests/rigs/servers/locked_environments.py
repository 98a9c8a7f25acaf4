"""Virtual environments for other people's servers, each made once from a lock, in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.local.layout import CHECKOUT, cache_root

INSTALLED_WITHIN_S = 900
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def environment_of(name: str) -> Path:
    """The virtual environment of ``requirements/<name>.lock``; the lock's own bytes name it."""
    lock_file = CHECKOUT / "requirements" / f"{name}.lock"
    key = hashlib.sha256(lock_file.read_bytes()).hexdigest()[:12]
    home = cache_root(os.environ) / f"{name}-{key}-python{PYTHON}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            _install(home, lock_file)
            (home / "ready").touch()
    return home


def _install(home: Path, lock_file: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    # The lock names all packages; only loaded modules are compiled.
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"),
            *("--quiet", "--no-deps", "--no-compile", "--require-hashes", "-r", str(lock_file)),
        ],
        check=True,
        timeout=INSTALLED_WITHIN_S,
    )


if __name__ == "__main__":
    # Made before its user runs in a cluster's network, which has no way out.
    for each in sys.argv[1:]:
        environment_of(each)
