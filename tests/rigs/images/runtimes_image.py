"""An image with real runtimes whose memory follows the limit: Debian's headless Java, and Python.

``python -m tests.rigs.images.runtimes_image`` makes it once, from Debian's packages, and keeps it
in the cache: a cluster's network has no way out. Nothing is installed on this machine.

/usr/bin/java -cp /opt Heap MIB SECONDS          hold MIB of the heap
/usr/bin/python3.11 -I -S /opt/limit_reader.py   what programs do that know their limit
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from deploy.local.images.archive import write_image
from deploy.local.layout import cache_root
from deploy.local.shell import run, try_run
from deploy.local.trouble import Trouble

from tests.rigs.images.java_class import NAME, heap_class

IMAGE: Final = "localhost/plimsoll-runtimes:1"
JAVA: Final = ("/usr/bin/java", "-cp", "/opt")
PYTHON: Final = ("/usr/bin/python3.11", "-I", "-S", "/opt/limit_reader.py")

_READER: Final = Path(__file__).with_name("limit_reader.py")
_PACKAGES: Final = (
    *("openjdk-17-jre-headless", "libc6", "libgcc-s1", "libstdc++6", "zlib1g"),
    *("python3.11-minimal", "libpython3.11-minimal", "libexpat1"),
)
_UNNEEDED: Final = (
    "usr/share",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/aarch64-linux-gnu/gconv",
)


def archive(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the image's file is, or will be; another one when its recipe changes."""
    recipe = repr((IMAGE, _PACKAGES, _UNNEEDED)).encode() + heap_class() + _READER.read_bytes()
    key = hashlib.sha256(recipe).hexdigest()[:12]
    return cache_root(environment) / "images" / f"runtimes-{key}.tar"


def make(target: Path) -> None:
    """Make the image's file.

    Raises:
        Trouble: if Debian's packages are out of reach.

    """
    with unpacked(target, "runtimes", _PACKAGES, _UNNEEDED) as (root, unfinished):
        _add_programs(root)
        write_image(root, IMAGE, JAVA, unfinished)


@contextlib.contextmanager
def unpacked(
    target: Path, stem: str, packages: Sequence[str], unneeded: Sequence[str]
) -> Iterator[tuple[Path, Path]]:
    """Unpack packages of Debian; yield their root, and the file that becomes ``target``.

    stem: how the names of the files begin that it replaces. unneeded: folders that are left out.

    Raises:
        Trouble: if Debian's packages are out of reach.

    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"plimsoll-{stem}-", dir=target.parent) as scratch:
        root = Path(scratch) / "root"
        root.mkdir()
        for package in download(packages, Path(scratch)):
            run(["dpkg-deb", "-x", package, root], doing=f"unpacking {package.name}")
        for name in unneeded:
            shutil.rmtree(root / name, ignore_errors=True)
        unfinished = Path(scratch) / "image.tar"
        yield root, unfinished
        for older in target.parent.glob(f"{stem}-*.tar"):
            older.unlink()
        unfinished.replace(target)


def download(packages: Sequence[str], folder: Path) -> list[Path]:
    """Download packages of Debian into a folder; return their files.

    Raises:
        Trouble: if they are out of reach.

    """
    words = ["apt-get", "-q", "download", *packages]
    try:
        run(words, doing="downloading Java from Debian", cwd=folder)
    except Trouble:
        # A machine may have no lists, or its lists may name packages that are gone by now.
        try_run(["apt-get", "-q", "update"], timeout_s=300.0)
        run(words, doing="downloading Java from Debian, as root after apt-get update", cwd=folder)
    return sorted(folder.glob("*.deb"))


def _add_programs(root: Path) -> None:
    (java,) = (root / "usr/lib/jvm").glob("java-17-openjdk-*/bin/java")
    (root / "usr/bin/java").symlink_to(f"/{java.relative_to(root)}")
    (root / "tmp").mkdir()
    (root / "opt").mkdir()
    (root / "opt" / f"{NAME}.class").write_bytes(heap_class())
    shutil.copyfile(_READER, root / "opt" / _READER.name)


if __name__ == "__main__":
    if not archive().exists():
        print("making the image with Java from Debian's packages; once, a minute", file=sys.stderr)
        make(archive())
