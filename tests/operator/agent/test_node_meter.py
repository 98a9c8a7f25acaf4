"""How much of a node is in use, read from recorded files of both versions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from plimsoll_operator.agent import node_meter
from plimsoll_operator.agent.node_meter import NodeMeter, cpu_times, memory_share
from plimsoll_operator.agent.pod_cgroups import find_hierarchy, find_kubepods, scan
from plimsoll_operator.agent.sampler import FULL_READING_EVERY, Sampler
from plimsoll_operator.attempts.node_use import LONGEST_WINDOW_S, MOST_PODS, NodeUse
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import RecordedTree

STAT = "cpu  {busy} 0 0 {idle} 0 0 0 0 7 0\ncpu0 1 0 0 1 0 0 0 0 0 0\nintr 1 2 3\nctxt 4\n"
MEMINFO = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"
V1_FILES = {
    "memory/{pod}/memory.usage_in_bytes": "1048576\n",
    "memory/{pod}/memory.max_usage_in_bytes": "1048576\n",
    "memory/{pod}/memory.failcnt": "0\n",
    "memory/{pod}/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/{pod}/memory.stat": "total_rss 1048576\ntotal_inactive_file 0\n",
}


def uid(number: int) -> str:
    return f"0a1b2c3d-0000-4000-8000-{number:012x}"


@dataclass(slots=True)
class MeteredNode:
    """A recorded node, and all that reads it at a tick. Tests set the clock."""

    root: Path
    version: int
    now_s: float = 100.0
    proc: Path = field(init=False)
    cgroups: Path = field(init=False)
    sampler: Sampler = field(init=False)
    meter: NodeMeter = field(init=False)

    def __post_init__(self) -> None:
        self.proc = self.root / "proc"
        self.proc.mkdir()
        self.cgroups = self.root / "cgroup"
        if self.version == 1:
            for name in ("memory", "cpuacct"):
                (self.cgroups / name / "kubepods").mkdir(parents=True)
            (self.cgroups / "memory/memory.usage_in_bytes").write_text("0\n")
        else:
            RecordedTree(self.cgroups).write("kubepods")
        self.says(busy=0, idle=0)
        (self.proc / "meminfo").write_text(MEMINFO)
        self.sampler = Sampler(find_hierarchy(self.cgroups).version, {}, lambda: 1.7e9)
        self.meter = NodeMeter("n1", self.sampler.last, lambda: self.now_s, self.proc)

    def says(self, busy: int, idle: int) -> None:
        (self.proc / "stat").write_text(STAT.format(busy=busy, idle=idle))

    def pod(self, number: int, cpu_s: float) -> None:
        """A pod that has used that much."""
        folder = f"kubepods/pod{uid(number)}"
        if self.version == 2:
            RecordedTree(self.cgroups).write(folder, usage_usec=int(cpu_s * 1e6), current=MIB)
            return
        for name, text in V1_FILES.items():
            path = self.cgroups / name.format(pod=folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        usage = self.cgroups / "cpuacct" / folder / "cpuacct.usage"
        usage.parent.mkdir(parents=True, exist_ok=True)
        usage.write_text(f"{int(cpu_s * 1e9)}\n")

    def tick(self) -> NodeUse | None:
        """One tick, and the node's use if it is due."""
        hierarchy = find_hierarchy(self.cgroups)
        pods = scan(hierarchy, find_kubepods(hierarchy))
        self.sampler.tick(pods)
        self.now_s += 1.0
        return self.meter.measure(pods) if self.sampler.read_all else None

    def ticks(self) -> list[NodeUse]:
        """Ticks until each cgroup was read in full once more."""
        found = [self.tick() for _ in range(FULL_READING_EVERY)]
        return [each for each in found if each is not None]


@pytest.fixture(params=[1, 2])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> MeteredNode:
    return MeteredNode(tmp_path, request.param)


def test_the_use_of_a_node_and_of_its_pods_is_told(node: MeteredNode) -> None:
    node.pod(1, 50.0)
    node.pod(2, 3.0)
    node.says(busy=100, idle=900)
    assert node.ticks() == []  # nothing to compare it with

    node.pod(1, 55.0)
    node.pod(3, 2.5)  # new
    node.says(busy=400, idle=1600)
    (use,) = node.ticks()

    assert use == NodeUse(
        node="n1",
        over_s=10.0,
        cpu_share=0.3,
        memory_share=0.6,
        pods_cores={uid(1): 0.5, uid(3): 0.25},
        pods_bytes={uid(1): MIB, uid(2): MIB, uid(3): MIB},
    )


def test_of_many_pods_the_largest_are_told(
    node: MeteredNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_meter, "MOST_PODS", 3)
    for number in range(5):
        node.pod(number, 1.0)
    node.ticks()
    (use,) = node.ticks()
    assert use.pods_bytes is not None
    assert len(use.pods_bytes) == 3


def test_an_interval_costs_two_files_more(
    node: MeteredNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        node.pod(number, 1.0)
    node.ticks()
    opened: list[str] = []
    really = os.open

    def counting(path: str, *rest: int) -> int:
        opened.append(str(path))
        return really(path, *rest)

    monkeypatch.setattr(os, "open", counting)
    assert len(node.ticks()) == 1
    of_proc = [path for path in opened if path.startswith(str(node.proc))]
    assert sorted(of_proc) == [str(node.proc / "meminfo"), str(node.proc / "stat")]

    with_meter = len(opened)
    opened.clear()
    hierarchy = find_hierarchy(node.cgroups)
    for _ in range(FULL_READING_EVERY):
        node.sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
    assert with_meter - len(opened) == 2


@pytest.mark.parametrize("missing", ["stat", "meminfo"])
def test_what_cannot_be_read_is_not_told(node: MeteredNode, missing: str) -> None:
    node.ticks()
    node.says(busy=1, idle=1)
    (node.proc / missing).unlink()
    (use,) = node.ticks()
    assert (use.cpu_share is None, use.memory_share is None) == (
        missing == "stat",
        missing == "meminfo",
    )


@pytest.mark.parametrize("later_s", [0.0, -5.0, LONGEST_WINDOW_S + 1.0])
def test_a_window_that_is_none_tells_nothing(node: MeteredNode, later_s: float) -> None:
    node.ticks()
    assert node.meter.measure([]) is None  # the clock stands
    node.now_s += later_s
    assert node.meter.measure([]) is None
    node.now_s += 10.0
    assert node.meter.measure([]) is not None


@pytest.mark.slow
def test_the_busiest_pods_are_told_where_there_are_many(node: MeteredNode) -> None:
    node.ticks()
    for number in range(MOST_PODS + 20):
        node.pod(number, number / 10)
    (use,) = node.ticks()
    assert len(use.pods_cores) == MOST_PODS
    assert min(use.pods_cores.values()) == pytest.approx(0.2)


def test_a_counter_that_steps_back_is_nothing_used(node: MeteredNode) -> None:
    node.pod(1, 50.0)
    node.says(busy=500, idle=500)
    node.ticks()
    node.pod(1, 1.0)
    node.says(busy=499, idle=600)
    (use,) = node.ticks()
    assert (use.cpu_share, use.pods_cores) == (0.0, {})


@pytest.mark.parametrize(
    ("text", "busy"),
    [
        pytest.param("cpu  10 1 20 60 9 2 3 4 5 0\n", 40, id="of a kernel of today"),
        pytest.param("cpu 10 0 20 60\n", 30, id="of an old one"),
        pytest.param("cpu  10 0\n", None, id="too short"),
        pytest.param("cpu  10 -1 20 60 9\n", None, id="below zero"),
        pytest.param("cpu  a b c d e\n", None, id="no numbers"),
        pytest.param("cpu0 10 0 20 60 9\n", None, id="of one processor"),
        pytest.param("", None, id="empty"),
    ],
)
def test_times_of_all_processors_are_read(text: str, busy: int | None) -> None:
    times = cpu_times(text)
    assert (None if times is None else times.busy) == busy


@pytest.mark.parametrize(
    ("text", "share"),
    [
        pytest.param(MEMINFO, 0.6, id="of a kernel of today"),
        pytest.param("MemTotal: 10 kB\nMemFree: 1 kB\n", None, id="no estimate"),
        pytest.param("MemTotal: 0 kB\nMemAvailable: 0 kB\n", None, id="no memory"),
        pytest.param("MemTotal: 10 kB\nMemAvailable: 11 kB\n", 0.0, id="more than all"),
        pytest.param("MemTotal: 10 kB\nMemAvailable:\n", None, id="cut off"),
        pytest.param("", None, id="empty"),
    ],
)
def test_memory_in_use_is_read(text: str, share: float | None) -> None:
    assert memory_share(text) == share


def test_this_machine_says_how_busy_it_is() -> None:
    now_s = iter([1.0, 2.0])
    meter = NodeMeter("here", lambda _: None, lambda: next(now_s))
    meter.measure([])
    use = meter.measure([])
    assert use is not None
    assert use.memory_share is not None
    assert 0 < use.memory_share < 1
