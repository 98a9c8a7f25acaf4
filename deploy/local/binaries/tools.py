"""Programs beyond Kubernetes' own, and others' CRDs: from pinned Go modules, into the cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.binaries.kubernetes import Say, build_lock, explain_failure
from deploy.local.layout import HERE, cache_root, kubernetes_version
from deploy.local.machine import prerequisites
from deploy.local.shell import run
from deploy.local.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Link:
    """A symlink of a module's repository that its module lacks: Go leaves symlinks out.

    path: in the module. target: what it points to, relative to its own folder.
    """

    module: str
    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One program.

    modules: the folder here with its go.mod: Kubernetes pins other versions of the same modules.
    package: its main package. fetched: whether tests use it, so that `cluster.py fetch` builds it.
    link: a symlink that its package needs to compile.
    """

    modules: str
    package: str
    fetched: bool = True
    link: Link | None = None


ARGO: Final = "github.com/argoproj/argo-workflows/v3"
TOOLS: Final = {
    "argo-controller": Tool("argo", f"{ARGO}/cmd/workflow-controller", fetched=False),
    "argoexec": Tool(
        "argo",
        f"{ARGO}/cmd/argoexec",
        fetched=False,
        link=Link(ARGO, "workflow/executor/osspecific/signal_linux.go", "signal_darwin.go"),
    ),
    "helm": Tool("helm", "helm.sh/helm/v3/cmd/helm"),
    "kueue": Tool("kueue", "sigs.k8s.io/kueue/cmd/kueue", fetched=False),
    "kwok": Tool("kwok", "sigs.k8s.io/kwok/cmd/kwok", fetched=False),
}
"""By name."""
FOREIGN_CRDS: Final = (
    (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        "example/prometheus-operator-crd",
    ),
    (
        "github.com/cert-manager/cert-manager@v1.21.2",
        "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
        "deploy/crds",
    ),
)
"""Module, checksum of its content, folder of the CRDs for which the chart creates objects."""
_FLAGS: Final = ("-trimpath",)


def tool(name: str, environment: Mapping[str, str], say: Say) -> Path:
    """A tool's program, built if it is missing or was built from something else.

    Raises:
        Trouble: if there is no such tool, or Go, disk space or a writable cache folder is missing.

    """
    if name not in TOOLS:
        raise Trouble(f"no tool {name}; there is {', '.join(TOOLS)}")
    folder = tool_folder(name, environment)
    prerequisites.require_writable(folder)
    with build_lock(folder, say):
        if not os.access(folder / name, os.X_OK):
            _build(name, folder, environment, say)
    return folder / name


def tool_folder(name: str, environment: Mapping[str, str]) -> Path:
    """Where a tool is, or will be; the folder changes with anything it is built from."""
    return cache_root(environment) / f"tools-{_fingerprint(TOOLS[name])}"


def module_of(name: str, module: str, environment: Mapping[str, str], say: Say) -> Path:
    """Folder of a module that a tool is built from, downloaded if it is missing.

    Raises:
        Trouble: if it cannot be downloaded, or is not the one that the tool's go.sum pins.

    """
    say(f"looking for the Go module {module} of {name}")
    said = run(
        ["go", "mod", "download", "-json", module],
        doing=f"downloading {module}, which is done outside of any cluster",
        cwd=HERE / TOOLS[name].modules,
        environment={**environment, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"},
    )
    return Path(json.loads(said)["Dir"])


def _fingerprint(made: Tool) -> str:
    """A fingerprint of everything that decides what is built."""
    parts = [(HERE / made.modules / each).read_bytes() for each in ("go.mod", "go.sum")]
    parts.append(" ".join((*_FLAGS, _linker_flags())).encode())
    if made.link is not None:
        parts.append(repr(made.link).encode())
    return _digest(b"\0".join(parts))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _linker_flags() -> str:
    # Without these, helm assumes version 1.20 if it cannot ask the cluster.
    major, minor = kubernetes_version().split(".")[:2]
    package = "helm.sh/helm/v3/pkg/chartutil"
    return f"-s -w -X {package}.k8sVersionMajor={major} -X {package}.k8sVersionMinor={minor}"


def _build(name: str, folder: Path, environment: Mapping[str, str], say: Say) -> None:
    prerequisites.require_go(prerequisites.go_version())
    prerequisites.require_space(prerequisites.build_places(environment))
    say(f"building {name} into {folder}; once, 2 to 4 min on 2 cores")
    unfinished = folder / f"{name}.part"
    settings = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}
    with _module_file(name, environment, say) as modules:
        command = ["go", "build", *_FLAGS, *modules, "-ldflags", _linker_flags()]
        command += ["-o", str(unfinished), TOOLS[name].package]
        done = subprocess.run(
            # If this process were killed, Go would build on for minutes, during the next build.
            ["setpriv", "--pdeathsig", "KILL", *command],
            cwd=HERE / TOOLS[name].modules, env={**environment, **settings},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if not line.startswith("go: downloading")]
        raise Trouble(explain_failure(said, what=name))
    unfinished.replace(folder / name)


@contextmanager
def _module_file(name: str, environment: Mapping[str, str], say: Say) -> Iterator[list[str]]:
    """Go options that build a tool from a copy of its module with the link.

    The module is the one that go.sum pins. Go has its own way to add a file, an overlay, but
    refuses it for files in the module cache.
    """
    link, own = TOOLS[name].link, HERE / TOOLS[name].modules
    if link is None:
        yield []
        return
    module = module_of(name, link.module, environment, say)
    with tempfile.TemporaryDirectory(prefix=f"plimsoll-{name}-") as scratch:
        copy, file = Path(scratch) / "module", Path(scratch) / "go.mod"
        # The module cache is read-only.
        run(["cp", "-r", "--no-preserve=mode", module, copy], doing=f"copying {link.module}")
        (copy / link.path).symlink_to(link.target)
        shutil.copyfile(own / "go.sum", file.with_suffix(".sum"))
        file.write_text(f"{(own / 'go.mod').read_text()}\nreplace {link.module} => {copy}\n")
        yield [f"-modfile={file}"]


def foreign_crds(environment: Mapping[str, str], say: Say) -> list[Path]:
    """Files with the CRDs of the Prometheus operator and of cert-manager, downloaded once.

    Raises:
        Trouble: if a module cannot be downloaded, or is not the one that was pinned.

    """
    folder = cache_root(environment) / f"crds-{_digest(repr(FOREIGN_CRDS).encode())}"
    prerequisites.require_writable(folder)
    with build_lock(folder, say):
        if not (found := folder / "found").exists():
            unfinished = folder / "found.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            _download_crds(unfinished, environment, say)
            unfinished.replace(found)
    return sorted(found.glob("*.yaml"))


def _download_crds(target: Path, environment: Mapping[str, str], say: Say) -> None:
    prerequisites.require_go(prerequisites.go_version())
    for module, checksum, folder in FOREIGN_CRDS:
        say(f"downloading the Go module {module} for the definitions in it")
        said = run(
            ["go", "mod", "download", "-json", module],
            # A cluster's network has no way out: a caller inside it must learn that.
            doing=f"downloading {module}, as `cluster.py fetch` does outside of any cluster",
            cwd=Path("/"), environment={**environment, "GOTOOLCHAIN": "local", "GOFLAGS": ""},
        )  # fmt: skip
        download = json.loads(said)
        if download["Sum"] != checksum:
            raise Trouble(f"{module} has the checksum {download['Sum']}, expected was {checksum}")
        for path in (Path(download["Dir"]) / folder).glob("*.yaml"):
            shutil.copyfile(path, target / path.name)
