"""Debian's packages that the cluster and the image builder use."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deploy.local.shell import PATH
from deploy.local.trouble import Trouble

_FOR_THE_CLUSTER: Final = {
    "containerd": ("containerd", "ctr"),
    "runc": ("runc",),
    "containernetworking-plugins": ("/usr/lib/cni/bridge", "/usr/lib/cni/host-local"),
    "iptables": ("iptables",),
    "conntrack": ("conntrack",),
    "etcd-server": ("etcd",),
    "iproute2": ("ip",),
    "util-linux": ("nsenter", "unshare", "setsid", "setpriv"),
    "openssl": ("openssl",),
    "gcc": ("gcc",),
    "libc6-dev": ("/usr/include/stdio.h",),
}
_FOR_IMAGES: Final = {"buildah": ("buildah",), "debootstrap": ("debootstrap",)}
CLUSTER_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = _FOR_THE_CLUSTER
IMAGE_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = _FOR_IMAGES
"""Package -> what must exist if it is installed: a program, or an absolute path."""


def missing(packages: Mapping[str, Collection[str]]) -> list[str]:
    """The packages of which something is missing."""
    return [name for name, signs in packages.items() if not all(map(_is_there, signs))]


def _is_there(sign: str) -> bool:
    return Path(sign).exists() if sign.startswith("/") else bool(shutil.which(sign, path=PATH))


def require(packages: Mapping[str, Collection[str]], say: Callable[[str], None]) -> None:
    """Install missing packages, if that is possible here.

    Raises:
        Trouble: naming the packages and the command to install them by hand.

    """
    lacking = missing(packages)
    if not lacking:
        return
    refusal = refuse_install(lacking, can_install=can_install())
    if refusal is not None:
        raise refusal
    say(f"installing {' '.join(lacking)}")
    install(lacking)
    if still := missing({name: packages[name] for name in lacking}):
        raise Trouble(f"{' '.join(still)} got installed, but its programs are not on {PATH}")


def can_install() -> bool:
    """Whether apt exists and may be used."""
    return os.geteuid() == 0 and shutil.which("apt-get", path=PATH) is not None


def refuse_install(lacking: Collection[str], *, can_install: bool) -> Trouble | None:
    """The message if it cannot be installed for the user; None if it can."""
    if can_install:
        return None
    names = " ".join(lacking)
    return Trouble(
        f"not installed: {names}; on Debian 12, as root: apt-get update && "
        f"apt-get install --no-install-recommends {names}"
    )


def install(names: Collection[str]) -> None:
    """Install by apt, without starting the services that some packages bring.

    Raises:
        Trouble: with the end of apt's output.

    """
    with _no_services():
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *names)


def _apt(*words: str) -> None:
    done = subprocess.run(
        ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *words],
        env={**os.environ, "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Trouble(f"apt-get {' '.join(words)}: {' / '.join(said[-3:])}")


@contextmanager
def _no_services(policy: Path = Path("/usr/sbin/policy-rc.d")) -> Iterator[None]:
    # Nobody wants a system-wide etcd and containerd here. Debian asks this file first.
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()
