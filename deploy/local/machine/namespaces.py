"""The cluster's own network, process and mount namespaces.

Everything of a cluster runs in its own process namespace, whose first process (the keeper) does
nothing but hold it. So the kernel itself knows which processes are ours, including containers and
their shims. It ends them all, with all their mounts, when the keeper is killed: no list of process
ids can become stale, and no other process can be hit.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from deploy.local.layout import SERVICE_RANGE, Layout
from deploy.local.node.nodes import nodes_of
from deploy.local.shell import plain_environment, run, try_run
from deploy.local.trouble import Trouble

_Answer = TypeVar("_Answer")
_MARK: Final = "plimsoll-cluster:"
_CLONE_NEWNET: Final = 0x40000000
# Two safety nets. On a busy machine the keeper's dozen small programs take long, and so do the ends
# of all processes of a cluster.
_BEGUN_WITHIN_S: Final = 120.0
_END_S: Final = 180.0

# Mounts of the host still arrive in here, but none of ours goes out. The cluster's own folders
# cover folders whose path is fixed in containerd and kubelet. Ignoring SIGCHLD makes the kernel
# reap orphans. $0 is the name under which the keeper shows in `ps`.
_KEEPER: Final = """
set -e
mount --make-rshared /
mount -t proc proc /proc
mount --bind "$1" "$2"; shift 2
while [ $# -gt 1 ]; do mount --bind "$1" "$2"; shift 2; done
trap "" CHLD
exec -a "$0" sleep infinity
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A process as this machine sees it.

    pid: in the namespace of the caller.
    inner_pid: in its own process namespace.
    """

    pid: int
    inner_pid: int
    argv: tuple[str, ...]


def processes() -> Iterator[Process]:
    """All present processes; those that end meanwhile are left out."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := _read_process(int(entry))) is not None:
            yield found


def _read_process(pid: int) -> Process | None:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    inner = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    argv = tuple(part.decode(errors="replace") for part in raw.rstrip(b"\0").split(b"\0"))
    return Process(pid, int(inner.split()[-1]) if inner else pid, argv)


def keepers() -> dict[Path, Process]:
    """The keeper of every cluster on this machine, by the cluster's home."""
    found = {}
    for process in processes():
        if process.inner_pid == 1 and process.pid != 1 and process.argv[0].startswith(_MARK):
            found[Path(process.argv[0].removeprefix(_MARK))] = process
    return found


def keeper_of(layout: Layout) -> Process | None:
    """The keeper of one cluster; None if it has none."""
    return keepers().get(layout.home)


def inside(keeper: Process) -> list[Process]:
    """All processes in the keeper's process namespace, pods' included."""
    own = _namespace(keeper.pid, "pid")
    return [p for p in processes() if own is not None and _namespace(p.pid, "pid") == own]


def in_network(netns: Path) -> list[Process]:
    """All processes in a network namespace: the cluster's, and those started by ``enter``."""
    try:
        wanted = f"net:[{netns.stat().st_ino}]"
    except OSError:
        return []
    return [p for p in processes() if _namespace(p.pid, "net") == wanted]


def _namespace(pid: int | str, kind: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def make_network(layout: Layout) -> None:
    """Make the network namespace: loopback, the nodes' addresses, the range of Services."""
    doing = "making the network namespace"
    run(["ip", "netns", "add", layout.name], doing=doing)
    # Not every kernel has dummy links, but each has loopback: the nodes' addresses are there, and
    # Services are routed there so that kube-proxy's rules see what the node itself sends.
    for words in (
        ["link", "set", "lo", "up"],
        *(["addr", "add", f"{node.address}/32", "dev", "lo"] for node in nodes_of(layout)),
        ["route", "add", SERVICE_RANGE, "dev", "lo"],
    ):
        run(["ip", "-n", layout.name, *words], doing=doing)


def remove_network(netns: Path) -> None:
    """Unmount the name of a network namespace; it ends with the last process in it."""
    if try_run(["ip", "netns", "del", netns.name]) is None and netns.exists():
        try_run(["umount", "-l", netns])
        netns.unlink(missing_ok=True)


def start_keeper(layout: Layout, covers: Sequence[tuple[Path, Path]]) -> Process:
    """Make the process and mount namespaces.

    covers: (own folder, the fixed path that it covers inside).

    Raises:
        Trouble: if the kernel or the container around us does not allow it.

    """
    pairs = [str(path) for cover in [(layout.home, layout.inner_home), *covers] for path in cover]
    log = layout.logs / "keeper.log"
    with log.open("wb") as output:
        subprocess.run(
            ["nsenter", f"--net={layout.netns}", "--", "setsid", "--fork", "unshare", "--pid",
             "--mount", "--propagation", "slave", "--fork", "--",
             "bash", "-c", _KEEPER, _MARK + str(layout.home), *pairs],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
            env=plain_environment(), check=True,
        )  # fmt: skip
    # Before its last exec the keeper is still called bash, and has no home yet.
    wait_for(
        lambda: keeper_of(layout) or log.read_text(errors="replace") or None,
        timeout_s=_BEGUN_WITHIN_S,
    )
    if (found := keeper_of(layout)) is None:
        nothing = f"no answer in {_BEGUN_WITHIN_S:.0f} s"
        said = log.read_text(errors="replace").strip() or nothing
        raise Trouble(f"cannot make process and mount namespaces: {said}")
    return found


def start_inside(
    layout: Layout, keeper: Process, name: str, argv: Sequence[str], settings: Mapping[str, str]
) -> None:
    """Start a program in all of the cluster's namespaces; it outlives the caller.

    settings: further environment variables.
    """
    with (layout.logs / f"{name}.log").open("ab") as log:
        subprocess.run(
            ["nsenter", f"--net={layout.netns}", f"--target={keeper.pid}", "--pid", "--mount",
             "--", "setsid", "--fork", *argv],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            env={**plain_environment(), **settings}, check=True,
        )  # fmt: skip


def end_keeper(keeper: Process, home: Path) -> None:
    """Kill the keeper and thus all in its namespace; return when they are gone.

    Raises:
        Trouble: if some do not end (stuck in the kernel).

    """
    # The file descriptor is taken first and the name checked afterwards, so that a process that
    # gets the same id in between is not hit.
    try:
        descriptor = os.pidfd_open(keeper.pid)
    except ProcessLookupError:
        return
    try:
        still = _read_process(keeper.pid)
        if still is None or still.argv[0] != _MARK + str(home):
            return
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        # The first process of a namespace counts as ended only after all others in it.
        if not select.select([descriptor], [], [], _END_S)[0]:
            raise Trouble(f"processes of the cluster in {home} do not end; see `ps -ef`")
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def end_entered(netns: Path) -> None:
    """End what ``enter`` started and still runs, except the caller and its parents."""
    spared = set(_ancestors())
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for process in in_network(netns):
            if process.pid not in spared:
                _signal(process.pid, sent)

        def gone() -> bool | None:
            return not [p for p in in_network(netns) if p.pid not in spared] or None

        if wait_for(gone, timeout_s=5.0):
            return


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            # The name, in brackets, may hold blanks: the text after the last bracket is safe.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return


def _signal(pid: int, sent: signal.Signals) -> None:
    try:
        os.kill(pid, sent)
    except ProcessLookupError:
        return


def is_inside_network(netns: Path) -> bool:
    """Whether the caller runs in the cluster's network."""
    try:
        return _namespace("self", "net") == f"net:[{netns.stat().st_ino}]"
    except OSError:
        return False


def move_into_network(netns: Path) -> Callable[[], None]:
    """Move the calling thread, and its later children, into a network namespace.

    Returns the function that moves it back.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    _set_network(netns)

    def back() -> None:
        _set_network(Path(f"/proc/self/fd/{before}"))
        os.close(before)

    return back


def _set_network(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # os.setns exists from Python 3.12 on.
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {path}")
    finally:
        os.close(descriptor)


def wait_for(
    probe: Callable[[], _Answer | None], *, timeout_s: float, pause_s: float = 0.05
) -> _Answer | None:
    """Ask until there is an answer; None if there is none in time.

    pause_s: from an answer to the next question; longer where a question costs processor time.
    """
    until_s = time.monotonic() + timeout_s
    while True:
        answer = probe()
        if answer is not None or time.monotonic() > until_s:
            return answer
        time.sleep(pause_s)
