"""Builds the targets of the project's Dockerfile, each once per state of its sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.images.base_image import base_reference, require_base
from deploy.local.images.buildah import a_buildah
from deploy.local.images.pip_settings import certificates, pip_files, pip_settings
from deploy.local.layout import CHECKOUT, cache_root
from deploy.local.machine import packages, prerequisites
from deploy.local.shell import run
from deploy.local.trouble import Trouble

Say = Callable[[str], None]

_BUILD_BYTES: Final = 5 * prerequisites.GIB
_KEPT_ARCHIVES: Final = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A stage of the Dockerfile that is used as an image.

    inputs: files and folders, relative to the checkout, that decide its content.
    """

    stage: str
    name: str
    inputs: tuple[str, ...]


_ALWAYS: Final = ("Dockerfile", ".dockerignore")
TARGETS: Final = {
    "plimsoll": Target(
        "plimsoll",
        "localhost/plimsoll",
        (*_ALWAYS, "requirements/runtime.lock", "requirements/build.lock", "pyproject.toml",
         "README.md", "LICENSE", "operator", "predictor", "deploy/image"),
    ),
    "demo": Target(
        "demo", "localhost/plimsoll-demo", (*_ALWAYS, "requirements/demo.lock", "demo/tasks")
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its full name, and the file to load it from."""

    reference: str
    archive: Path


def fingerprint(target: Target, checkout: Path = CHECKOUT) -> str:
    """Twelve hex digits that depend on everything that decides the image's content.

    Raises:
        Trouble: if an input is missing.

    """
    digest = hashlib.sha256(base_reference().encode())
    for path in _files(target, checkout):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(checkout)} {content}\n".encode())
    return digest.hexdigest()[:12]


def _files(target: Target, checkout: Path) -> Iterator[Path]:
    for name in target.inputs:
        path = checkout / name
        if path.is_file():
            yield path
        elif path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.is_file())
            yield from (p for p in found if "__pycache__" not in p.parts)
        else:
            raise Trouble(f"cannot build the image {target.name}: {path} is missing")


def build_image(target: Target, environment: Mapping[str, str], say: Say) -> Image:
    """Build an image, or find it built: with Docker if it runs, else with buildah.

    Raises:
        Trouble: if something is missing, or the build fails.

    """
    reference = f"{target.name}:{fingerprint(target)}"
    folder = cache_root(environment) / "images"
    archive = folder / (reference.replace("/", "_").replace(":", "_") + ".tar")
    prerequisites.require_writable(folder)
    with _lock(folder):
        if not archive.exists():
            _build_anew(target, Image(reference, archive), environment, say)
        # Mark it as used: the least recently used ones are removed.
        archive.touch()
        _forget_old(target, folder)
    return Image(reference, archive)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_old(target: Target, folder: Path) -> None:
    own = folder.glob(target.name.replace("/", "_") + "_*.tar")
    for path in sorted(own, key=lambda p: p.stat().st_mtime, reverse=True)[_KEPT_ARCHIVES:]:
        path.unlink()


def _build_anew(target: Target, image: Image, environment: Mapping[str, str], say: Say) -> None:
    place = prerequisites.place("building an image", image.archive.parent, _BUILD_BYTES)
    prerequisites.require_space([place])
    unfinished = image.archive.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="plimsoll-pip-") as scratch:
        options = [f"--target={target.stage}", *_secrets(Path(scratch), environment)]
        if has_docker(environment):
            say(f"building {image.reference} by docker")
            _docker(options, unfinished, image.reference, environment)
        else:
            packages.require(packages.IMAGE_PACKAGES, say)
            _buildah(options, unfinished, image.reference, environment, say)
    unfinished.replace(image.archive)


def has_docker(environment: Mapping[str, str]) -> bool:
    """Whether there is a Docker engine that answers."""
    try:
        run(["docker", "info"], doing="asking Docker", environment=environment, timeout_s=10.0)
    except Trouble:
        return False
    return True


def _docker(
    options: list[str], archive: Path, reference: str, environment: Mapping[str, str]
) -> None:
    settings = {**environment, "DOCKER_BUILDKIT": "1"}
    run(
        ["docker", "build", *options, "--tag", reference, CHECKOUT],
        doing=f"building {reference}", environment=settings,
    )  # fmt: skip
    run(
        ["docker", "save", "--output", archive, reference],
        doing=f"writing {archive}", environment=settings,
    )  # fmt: skip


def _buildah(
    options: list[str], archive: Path, reference: str, environment: Mapping[str, str], say: Say
) -> None:
    if os.geteuid():
        raise Trouble("without Docker, root is needed to build an image; run it with sudo")
    buildah = a_buildah(cache_root(environment) / "images" / "storage", environment)
    buildah.prune()
    base = require_base(buildah, say)
    say(f"building {reference} by buildah")
    arguments = [*options, "--build-arg", f"BASE={base}"]
    buildah.build(CHECKOUT, arguments, archive, reference)
    buildah.forget_others(reference)


def _secrets(scratch: Path, environment: Mapping[str, str]) -> list[str]:
    """Pass on the settings for packages, only during the build."""
    settings = scratch / "pip.conf"
    settings.touch(mode=0o600)
    settings.write_text(pip_settings(environment, pip_files(environment)))
    options = ["--secret", f"id=pip,src={settings}"]
    if (bundle := certificates(environment)) is not None:
        options += ["--secret", f"id=ca,src={bundle}"]
    return options
