"""A substitute for python:3.11-slim-bookworm, made from Debian's packages without a registry."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from deploy.local.images.buildah import Buildah
from deploy.local.shell import run, try_run

_SUITE: Final = "bookworm"
_PACKAGES: Final = "python3,python3-venv,ca-certificates"
_UNNEEDED: Final = (
    "dev",
    "proc",
    "sys",
    "var/cache/apt",
    "var/cache/debconf",
    "var/lib/apt/lists",
    "var/log",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
)
_RECIPE: Final = f"{_SUITE} minbase {_PACKAGES} without {' '.join(_UNNEEDED)}; 2"


def base_reference() -> str:
    """Name of the substitute; it changes with the recipe."""
    return f"localhost/plimsoll-base:{hashlib.sha256(_RECIPE.encode()).hexdigest()[:12]}"


def require_base(buildah: Buildah, say: Callable[[str], None]) -> str:
    """Make the substitute if it does not exist yet; return its name.

    Raises:
        Trouble: if Debian's mirror is out of reach.

    """
    reference = base_reference()
    if buildah.has_image(reference):
        return reference
    say("making the base image from Debian's packages; once, half a minute")
    with tempfile.TemporaryDirectory(prefix="plimsoll-base-", dir=buildah.storage) as scratch:
        root = Path(scratch) / "root"
        buildah.alone(
            [
                "debootstrap",
                "--variant=minbase",
                f"--include={_PACKAGES}",
                _SUITE,
                root,
                *_mirror(),
            ],
            doing="making the base image",
        )
        _slim(root)
        archive = Path(scratch) / "root.tar"
        run(["tar", "-C", root, "--numeric-owner", "--sort=name", "-cf", archive, "."],
            doing="packing the base image")  # fmt: skip
        shutil.rmtree(root)
        buildah.commit(archive, reference)
        buildah.forget_others(reference)
    return reference


def _slim(root: Path) -> None:
    for name in _UNNEEDED:
        for path in (root / name).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    # debootstrap copies these from this machine, but they are private.
    for name in ("resolv.conf", "hostname", "hosts"):
        (root / "etc" / name).unlink(missing_ok=True)
    # Nothing is installed in it later, and the mirror's address is private to this machine.
    (root / "etc" / "apt" / "sources.list").unlink(missing_ok=True)
    # Names that Debian leaves to its users, but the original image has.
    (root / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")


def _mirror() -> list[str]:
    """The mirror that this machine installs from; without one, debootstrap uses Debian's own."""
    listed = try_run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(SUITE) $(CODENAME) $(COMPONENT)",
         "Created-By: Packages"]
    )  # fmt: skip
    for line in (listed or "").splitlines():
        site, *names = line.split()
        if _SUITE in names and "main" in names and "security" not in site:
            return [site]
    return []
