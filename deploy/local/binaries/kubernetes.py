"""Kubernetes' programs, built once from their Go modules into the user's cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from deploy.local.images.on_node import build_pause_image
from deploy.local.layout import MODULES, cache_root, kubernetes_version
from deploy.local.machine import prerequisites
from deploy.local.shell import is_disk_full, try_run
from deploy.local.trouble import Trouble

PROGRAMS: Final = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)
_VERSION_PACKAGE: Final = "k8s.io/component-base/version"
_FLAGS: Final = ("-trimpath", "-v")
_STAMP: Final = "built.json"
_REPORT_S: Final = 10.0
_PACKAGES: Final = 2700
"""About how many packages a build with an empty Go cache compiles: `go list -deps` of 1.35.4."""

Say = Callable[[str], None]


def binaries_folder(environment: Mapping[str, str]) -> Path:
    """Where the programs are, or will be."""
    return _version_folder(environment) / "bin"


def pause_image(environment: Mapping[str, str]) -> Path:
    """The image file of the pods' sandbox."""
    return _version_folder(environment) / "pause.tar"


def _version_folder(environment: Mapping[str, str]) -> Path:
    return cache_root(environment) / f"kubernetes-{kubernetes_version()}"


def is_built(folder: Path) -> bool:
    """Whether the programs there are those that would be built now."""
    if not all(os.access(folder / name, os.X_OK) for name in PROGRAMS):
        return False
    try:
        return bool(json.loads((folder / _STAMP).read_text()) == _recipe())
    except (OSError, ValueError):
        return _is_adopted(folder)


def _is_adopted(folder: Path) -> bool:
    """Give programs of the right version a stamp if they have none."""
    said = try_run([folder / "kube-apiserver", "--version"])
    if said is None or said.split()[-1] != f"v{kubernetes_version()}":
        return False
    _write_stamp(folder)
    return True


def _write_stamp(folder: Path) -> None:
    (folder / _STAMP).write_text(json.dumps(_recipe(), indent=1) + "\n")


def _recipe() -> dict[str, str]:
    """Everything that decides what is built."""
    return {
        "kubernetes": kubernetes_version(),
        "go.mod": hashlib.sha256((MODULES / "go.mod").read_bytes()).hexdigest(),
        "go.sum": hashlib.sha256((MODULES / "go.sum").read_bytes()).hexdigest(),
        "flags": " ".join((*_FLAGS, _linker_flags())),
    }


def _linker_flags() -> str:
    major, minor = kubernetes_version().split(".")[:2]
    values = {"gitVersion": f"v{kubernetes_version()}", "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(f"-X {_VERSION_PACKAGE}.{k}={v}" for k, v in values.items())


def build(environment: Mapping[str, str], say: Say) -> Path:
    """Build what is missing; return the folder of the programs.

    If two builds are started, one of them waits. An interrupted build leaves nothing that looks
    complete.

    Raises:
        Trouble: if Go, disk space or a writable cache folder is missing, or the build fails.

    """
    folder = binaries_folder(environment)
    prerequisites.require_writable(folder.parent)
    with build_lock(folder.parent, say):
        if not is_built(folder):
            _build_anew(folder, environment, say)
        if not (image := pause_image(environment)).exists():
            unfinished = image.with_suffix(".part")
            build_pause_image(unfinished)
            unfinished.replace(image)
    return folder


@contextmanager
def build_lock(folder: Path, say: Say) -> Iterator[None]:
    """Let one build at a time write into a folder of the cache."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_anew(folder: Path, environment: Mapping[str, str], say: Say) -> None:
    prerequisites.require_go(prerequisites.go_version())
    prerequisites.require_space(prerequisites.build_places(environment))
    say(f"building Kubernetes {kubernetes_version()} into {folder}; once, 6 min on 2 cores")
    unfinished = folder.with_name("bin.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        _go_build(unfinished, environment, say)
        _write_stamp(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.replace(folder)
    except OSError as error:
        if is_disk_full(error):
            raise Trouble(f"building Kubernetes: {prerequisites.DISK_FULL}") from None
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _go_build(target: Path, environment: Mapping[str, str], say: Say) -> None:
    settings = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}
    # If this process were killed, Go would build on for minutes, during the next build.
    ends_with_us = ["setpriv", "--pdeathsig", "KILL"]
    go_build = ["go", "build", *_FLAGS, "-ldflags", _linker_flags(), "-o", f"{target}/", "tool"]
    with subprocess.Popen(
        [*ends_with_us, *go_build], cwd=MODULES, env={**environment, **settings},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace",
    ) as started:  # fmt: skip
        assert started.stderr is not None
        try:
            complaints = _follow(started.stderr, say)
        except BaseException:
            started.terminate()
            raise
    if started.returncode:
        raise Trouble(explain_failure(complaints))


def _follow(lines: IO[str], say: Say) -> list[str]:
    """Count the packages that Go names as it compiles them; return all other lines."""
    began_s = time.monotonic()
    compiled, complaints, ended = 0, list[str](), threading.Event()

    def report() -> None:
        every_s = 1.0 if sys.stderr.isatty() else _REPORT_S
        while not ended.wait(every_s):
            elapsed = time.strftime("%M:%S", time.gmtime(time.monotonic() - began_s))
            done = f"{compiled} of about {_PACKAGES} packages compiled"
            say(f"  {elapsed}  {done if compiled else 'downloading, or linking what is compiled'}")

    threading.Thread(target=report, daemon=True).start()
    try:
        for line in lines:
            if _is_package(line):
                compiled += 1
            elif not line.startswith("go: downloading"):
                complaints.append(line.strip())
    finally:
        ended.set()
    return complaints


def _is_package(line: str) -> bool:
    """With -v, Go prints the import path of each package: one word, no colon."""
    return len(line.split()) == 1 and ":" not in line


def explain_failure(complaints: list[str], what: str = "Kubernetes") -> str:
    """Say what to do, from Go's messages."""
    text = "\n".join(complaints)
    if "no space left on device" in text.lower():
        return f"building {what}: {prerequisites.DISK_FULL}"
    if "dial tcp" in text or "proxyconnect" in text or "lookup " in text:
        return (
            f"building {what}: its Go modules cannot be downloaded; "
            f"see GOPROXY in `go env`. Go said: {complaints[-1]}"
        )
    return f"building {what}: " + (" / ".join(complaints[-3:]) or "go build failed silently")
