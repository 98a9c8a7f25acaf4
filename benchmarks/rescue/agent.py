"""The cost of an agent on a node of a hundred pods: looks, readings and processor time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from plimsoll_operator.agent.near_limit import FAST_S, NearLimit
from plimsoll_operator.agent.pod_cgroups import PodCgroup, Version, find_hierarchy, scan
from plimsoll_operator.agent.sampler import Sampler

PODS: Final = 100
SECONDS: Final = 20.0
LIMIT_MIB: Final = 32
NEAR: Final = 10
"""Pods whose memory is above the mark, and flat."""
GROWING: Final = 2
"""Pods that rise slowly above the mark."""
_HOLD: Final = "import time; kept = bytearray({mib} << 20); time.sleep(600)"
_GROW: Final = (
    "import time; kept = [bytearray({mib} << 20)]\n"
    "while True: kept.append(bytearray(32768)); time.sleep(0.1)"
)


def agent_cost() -> dict[str, Any]:
    """Measure the sampling thread, in this process, on a hundred real cgroups of pods."""
    hierarchy = find_hierarchy(Path("/sys/fs/cgroup"))
    found: dict[str, Any] = {"pods": PODS, "near": NEAR, "growing": GROWING}
    with _pods(hierarchy.memory, hierarchy.version) as root:
        pods = scan(hierarchy, (root,))
        for name, rescuable in (("off", frozenset[str]()), ("on", frozenset(p.uid for p in pods))):
            sampler = Sampler(hierarchy.version, {}, time.time)
            text = sampler.files.text
            near = NearLimit(hierarchy.version, sampler.last, time.monotonic, text)
            began_s, used_s = time.monotonic(), time.thread_time()
            _watch(sampler, near, lambda: scan(hierarchy, (root,)), rescuable)
            seconds = time.monotonic() - began_s
            found[name] = {
                "cpu_share": round((time.thread_time() - used_s) / seconds, 4),
                "looks_s": round(near.looks / seconds, 1),
                "readings_s": round(near.readings / seconds, 1),
            }
    return found


def _watch(sampler: Sampler, near: NearLimit, look: Any, rescuable: frozenset[str]) -> None:
    """Do what the agent's loop does, for a while."""
    end_s = time.monotonic() + SECONDS
    due_s = time.monotonic()
    while (now_s := time.monotonic()) < end_s:
        pods: list[PodCgroup] = look()
        sampler.tick(pods)
        near.tick(pods, rescuable)
        due_s = max(due_s + 1.0, now_s)
        while (left_s := due_s - time.monotonic()) > 0:
            if not near.watches or left_s <= FAST_S:
                time.sleep(left_s)
                break
            time.sleep(FAST_S)
            near.look()


@contextlib.contextmanager
def _pods(memory: Path, version: Version) -> Iterator[Path]:
    """Make cgroups as a kubelet does; a few of them hold memory near their limit."""
    root = memory / f"bench{uuid.uuid4().hex[:6]}-kubepods"
    made: list[Path] = [root]
    started: list[subprocess.Popen[bytes]] = []
    root.mkdir()
    try:
        for number in range(PODS):
            pod = root / f"pod{uuid.uuid4()}"
            container = pod / uuid.uuid4().hex
            for folder in (pod, container, pod / uuid.uuid4().hex):
                folder.mkdir()
                made.append(folder)
            name = "memory.limit_in_bytes" if version is Version.V1 else "memory.max"
            (container / name).write_text(str(LIMIT_MIB << 20))
            if number < NEAR + GROWING:
                words = _HOLD if number < NEAR else _GROW
                started.append(_start(container, words.format(mib=LIMIT_MIB // 2)))
        time.sleep(2)
        yield root
    finally:
        for process in started:
            process.kill()
            process.wait()
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _start(container: Path, words: str) -> subprocess.Popen[bytes]:
    def join() -> None:
        (container / "cgroup.procs").write_text(str(os.getpid()))

    return subprocess.Popen([sys.executable, "-S", "-c", words], preexec_fn=join)
