"""Where a local cluster keeps its files: everything is derived from its home folder."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.trouble import Trouble

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
MODULES: Final = HERE / "kubernetes"
"""The folder of the go.mod and go.sum by which Kubernetes' programs are built."""
RUN_ROOT: Final = Path("/run/plimsoll")
"""Sockets and locks: a unix socket's path has at most 107 characters, and a checkout's may be
longer."""
NETNS_ROOT: Final = Path("/run/netns")
NAME: Final = "plimsoll-"
"""The start of the name of every network namespace and cgroup of a local cluster."""
_NAMES: Final = re.compile(NAME + "[0-9a-f]{8}")

NODE_NAME: Final = "node-1"
NODE_ADDRESS: Final = "10.89.0.1"
POD_RANGE: Final = "10.88.0.0/24"
TWO_POD_RANGES: Final = "10.88.0.0/23"
"""The range of all pods if there are two nodes."""
SERVICE_RANGE: Final = "10.96.0.0/16"
API_SERVICE_ADDRESS: Final = "10.96.0.1"
API_PORT: Final = 6443
ETCD_PORTS: Final = (2379, 2380)
KUBELET_PORT: Final = 10250
PORTS: Final = (*ETCD_PORTS, API_PORT, KUBELET_PORT, 10249, 10256, 10257, 10259)
"""All ports that the programs listen on, inside the cluster's own network namespace."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths and names of one cluster.

    home: absolute; holds state, logs and certificates, and is deleted by ``down``.
    """

    home: Path

    @property
    def key(self) -> str:
        """Separates clusters of different checkouts: 8 hex digits of the home's path."""
        return hashlib.sha256(str(self.home).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """The name of its network namespace, its cgroup and its pod network."""
        return NAME + self.key

    @property
    def run(self) -> Path:
        """Short paths for sockets."""
        return RUN_ROOT / self.key

    @property
    def inner_home(self) -> Path:
        """The home as the cluster's own processes see it, bound to a short path."""
        return self.run / "home"

    @property
    def netns(self) -> Path:
        """Where the network namespace is mounted."""
        return NETNS_ROOT / self.name

    @property
    def containerd_socket(self) -> Path:
        """The socket for `ctr` and kubelet."""
        return self.run / "containerd.sock"

    @property
    def certificates(self) -> Path:
        """Keys and certificates, readable by root alone."""
        return self.home / "certificates"

    @property
    def logs(self) -> Path:
        """One file per program."""
        return self.home / "logs"

    @property
    def settings(self) -> Path:
        """Configuration files."""
        return self.home / "settings"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, readable by root alone."""
        return self.home / "admin.kubeconfig"

    @property
    def up_stamp(self) -> Path:
        """It exists once ``up`` has finished; it is removed before anything is taken down."""
        return self.home / "up"


def layout_from(environment: Mapping[str, str]) -> Layout:
    """Read which cluster is meant: ``$PLIMSOLL_CLUSTER_HOME``, else ``.local/cluster`` here.

    Raises:
        Trouble: if the variable names no absolute path, or one that holds something else.

    """
    named = environment.get("PLIMSOLL_CLUSTER_HOME")
    if named is None:
        return Layout((CHECKOUT / ".local" / "cluster").resolve())
    home = Path(named)
    if not home.is_absolute():
        raise Trouble(f"PLIMSOLL_CLUSTER_HOME={named!r} is not an absolute path; name a folder")
    refuse_foreign_folder(home)
    return Layout(home.resolve())


def refuse_foreign_folder(home: Path) -> None:
    """Refuse a home with other content, since ``down`` deletes the home.

    Raises:
        Trouble: if the folder is not empty and not a cluster's.

    """
    if not home.exists():
        return
    if not home.is_dir():
        raise Trouble(f"PLIMSOLL_CLUSTER_HOME={home} is not a folder; name another path")
    if any(home.iterdir()) and not (home / MARK).exists():
        raise Trouble(
            f"PLIMSOLL_CLUSTER_HOME={home} holds something that is no cluster's and would be "
            "deleted by `down`; name an empty or new folder"
        )


def is_cluster_name(name: str) -> bool:
    """Whether `Layout.name` makes such names: things with other names are not ours to remove."""
    return _NAMES.fullmatch(name) is not None


MARK: Final = ".plimsoll-cluster"
"""A file that marks a home folder as ours, so that it may be deleted."""


def cache_root(environment: Mapping[str, str]) -> Path:
    """The cache outside the checkout, so that a clean clone need not build again."""
    named = environment.get("XDG_CACHE_HOME")
    base = Path(named) if named else Path(_user_home(environment)) / ".cache"
    # The real path, in case a link leads there: buildah's storage and virtual environments record
    # it.
    return (base / "plimsoll").resolve()


def _user_home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir


def kubernetes_version() -> str:
    """The version that go.mod pins, such as ``1.35.4``.

    Raises:
        Trouble: if go.mod names none.

    """
    found = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", (MODULES / "go.mod").read_text(), re.M)
    if found is None:
        raise Trouble(
            f"{MODULES / 'go.mod'} names no version of k8s.io/kubernetes; restore the file"
        )
    return found[1]
