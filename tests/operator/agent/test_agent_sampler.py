"""What the sampler reports, and when: on recorded files of version 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.agent.pod_cgroups import Version, find_hierarchy, find_kubepods, scan
from plimsoll_operator.agent.sampler import FULL_READING_EVERY, REPORTED_STEP_BYTES, Sampler
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, PAUSE, UID, RecordedTree

POD = f"kubepods/burstable/pod{UID}"
WALL_S = 1_700_000_000.0


class Node:
    """A recorded node and the sampler that looks at it."""

    def __init__(self, root: Path) -> None:
        self.tree = RecordedTree(root)
        self.tree.write(POD)
        self.tree.write(f"{POD}/{PAUSE}", current=MIB // 4, peak=MIB // 2, anon=MIB // 4)
        self.tree.write(f"{POD}/{CONTAINER}")
        self.sampler = Sampler(Version.V2, {}, lambda: WALL_S)

    def tick(self) -> dict[str | None, PeakReport]:
        hierarchy = find_hierarchy(self.tree.root)
        reports = self.sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
        assert len({report.container_id for report in reports}) == len(reports)
        return {report.container_id: report for report in reports}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_pod_and_its_containers_are_reported_at_first_sight(node: Node) -> None:
    reports = node.tick()

    assert set(reports) == {None, CONTAINER, PAUSE}
    assert reports[CONTAINER].need_peak_bytes == 10 * MIB
    assert reports[CONTAINER].measured_s == WALL_S
    assert not any(report.final for report in reports.values())


def test_what_did_not_change_is_not_reported_again(node: Node) -> None:
    node.tick()
    assert [node.tick() for _ in range(3)] == [{}, {}, {}]


def test_only_what_changed_is_reported(node: Node) -> None:
    node.tick()
    node.tree.write(f"{POD}/{CONTAINER}", current=90 * MIB, peak=120 * MIB, anon=90 * MIB)

    reports = node.tick()

    assert set(reports) == {CONTAINER}
    assert reports[CONTAINER].need_peak_bytes == 120 * MIB


def test_a_rise_too_small_to_matter_waits_for_the_final_report(node: Node) -> None:
    node.tick()
    node.tree.write(f"{POD}/{CONTAINER}", current=10 * MIB + 4096, peak=10 * MIB + 4096)
    assert node.tick() == {}
    node.tree.remove(f"{POD}/{CONTAINER}")

    assert node.tick()[CONTAINER].kernel_peak_bytes == 10 * MIB + 4096


def test_a_container_that_is_gone_is_final_once(node: Node) -> None:
    node.tick()
    node.tree.remove(f"{POD}/{CONTAINER}")

    assert {key: report.final for key, report in node.tick().items()} == {CONTAINER: True}
    assert node.tick() == {}


def test_a_pod_without_containers_is_final_before_its_folder_goes(node: Node) -> None:
    node.tick()
    node.tree.remove(f"{POD}/{CONTAINER}")
    node.tree.remove(f"{POD}/{PAUSE}")
    node.tree.write(POD, current=MIB, peak=300 * MIB, anon=0)

    pod = node.tick()[None]

    assert pod.final
    assert pod.need_peak_bytes == 300 * MIB
    node.tree.remove(POD)
    assert node.tick() == {}


def test_a_pod_that_is_gone_is_final(node: Node) -> None:
    node.tick()
    node.tree.remove(POD)
    assert {key: report.final for key, report in node.tick().items()} == {
        None: True,
        CONTAINER: True,
        PAUSE: True,
    }


def test_a_pod_whose_containers_are_yet_to_come_is_not_final(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.remove(f"{POD}/{CONTAINER}")
    node.tree.remove(f"{POD}/{PAUSE}")
    assert not node.tick()[None].final


def test_a_limit_that_is_resized_is_reported(node: Node) -> None:
    node.tick()
    node.tree.write(f"{POD}/{CONTAINER}", current=11 * MIB, peak=11 * MIB, limit=400 * MIB)
    assert node.tick()[CONTAINER].limit_bytes == 400 * MIB


def test_cpu_time_of_a_cgroup_whose_memory_rests_is_read_now_and_then(node: Node) -> None:
    node.tick()
    node.tree.write(f"{POD}/{CONTAINER}", usage_usec=60_000_000)
    for _ in range(FULL_READING_EVERY):
        node.tick()
    node.tree.remove(f"{POD}/{CONTAINER}")

    assert node.tick()[CONTAINER].cpu_s == pytest.approx(60.0)


def test_an_agent_that_restarts_carries_on_from_what_was_known(node: Node) -> None:
    node.tree.write(f"{POD}/{CONTAINER}", current=200 * MIB, peak=200 * MIB, anon=200 * MIB)
    node.tick()
    # This kernel keeps no peak: samples exist nowhere else.
    node.tree.write(f"{POD}/{CONTAINER}", current=5 * MIB, peak=None, anon=5 * MIB)
    node.tree.remove(f"{POD}/{PAUSE}")
    node.sampler = Sampler(Version.V2, node.sampler.running(), lambda: WALL_S)

    # A cgroup that ended while no agent lived is reported now; earlier reports are not repeated.
    assert {key: report.final for key, report in node.tick().items()} == {PAUSE: True}
    node.tree.remove(f"{POD}/{CONTAINER}")
    reports = node.tick()

    assert reports[CONTAINER].need_peak_bytes == 200 * MIB
    assert reports[None].final


@pytest.mark.parametrize(
    ("peak_mib", "file_mib", "since_s"),
    [
        pytest.param(None, 0, WALL_S, id="a kernel without a peak"),
        pytest.param(500, 450, WALL_S, id="a peak that may have been page cache"),
        pytest.param(500, 20, None, id="a peak that was nearly all needed"),
    ],
)
def test_what_was_before_the_first_reading_is_unknown_unless_the_kernel_tells(
    node: Node, peak_mib: int | None, file_mib: int, since_s: float | None
) -> None:
    current = (50 + file_mib) * MIB
    files = {"anon": 50 * MIB, "inactive_file": file_mib * MIB}
    peak = None if peak_mib is None else peak_mib * MIB
    node.tree.remove(f"{POD}/{CONTAINER}")
    node.tree.write(f"{POD}/{CONTAINER}", current=current, peak=peak, **files)
    assert node.tick()[CONTAINER].since_s == since_s
    # From here on, it needs more than it can have needed before.
    if peak is not None:
        node.tree.write(f"{POD}/{CONTAINER}", current=600 * MIB, peak=600 * MIB, anon=600 * MIB)
        assert node.tick()[CONTAINER].since_s is None


def test_an_agent_that_restarts_still_knows_since_when_it_was_read(node: Node) -> None:
    node.tree.remove(f"{POD}/{CONTAINER}")
    node.tree.write(f"{POD}/{CONTAINER}", current=50 * MIB, peak=None, anon=50 * MIB)
    node.tick()
    node.sampler = Sampler(Version.V2, node.sampler.running(), lambda: WALL_S + 1000.0)
    node.tree.write(f"{POD}/{CONTAINER}", current=90 * MIB, peak=None, anon=90 * MIB)
    assert node.tick()[CONTAINER].since_s == WALL_S


def test_an_agent_that_ends_leaves_all_maxima_that_it_has_not_reported(node: Node) -> None:
    node.tick()
    assert node.sampler.unreported() == []
    little = 10 * MIB + REPORTED_STEP_BYTES // 2
    node.tree.write(f"{POD}/{CONTAINER}", current=little, peak=little, anon=little)
    assert node.tick() == {}
    (report,) = node.sampler.unreported()
    assert (report.container_id, report.need_peak_bytes) == (CONTAINER, little)
    assert not report.final


def test_a_wall_clock_that_jumps_changes_nothing_but_the_time_told(node: Node) -> None:
    clock = iter([WALL_S] * 2 + [5.0] * 9)
    node.sampler = Sampler(Version.V2, {}, lambda: next(clock))
    node.tick()
    assert node.tick() == {}
    node.tree.write(f"{POD}/{CONTAINER}", current=90 * MIB, peak=120 * MIB, anon=90 * MIB)

    report = node.tick()[CONTAINER]

    assert (report.need_peak_bytes, report.measured_s) == (120 * MIB, 5.0)


def test_a_container_that_goes_while_it_is_first_read_is_not_said_to_have_needed_nothing(
    node: Node,
) -> None:
    (node.tree.root / POD / CONTAINER / "memory.stat").unlink()  # its usage was there to be read
    assert CONTAINER not in node.tick()
    node.tree.remove(f"{POD}/{CONTAINER}")
    assert CONTAINER not in node.tick()


def test_a_half_removed_cgroup_is_no_trouble(node: Node) -> None:
    node.tick()
    (node.tree.root / POD / CONTAINER / "memory.current").unlink()
    assert node.tick() == {}


@pytest.mark.parametrize("pod_limit", [1024 * MIB, "max"])
def test_a_limit_that_a_container_touched_is_not_that_of_its_pod(
    node: Node, pod_limit: int | str
) -> None:
    """A pod's limit is that of an init container which needs more, or none at all."""
    node.tree.remove(POD)

    def write(hits: int, **files: int) -> None:
        for cgroup, limit in ((POD, pod_limit), (f"{POD}/{CONTAINER}", 200 * MIB)):
            node.tree.write(cgroup, peak=None, limit=limit, max=hits, **files)

    write(0, current=100 * MIB, anon=100 * MIB)
    node.tick()
    write(3, current=100 * MIB, anon=90 * MIB)
    pod = node.tick()[None]
    assert (pod.need_peak_bytes, pod.kernel_peak_bytes) == (200 * MIB, 200 * MIB)

    node.tree.remove(f"{POD}/{CONTAINER}")
    node.tree.write(POD, peak=None, limit=pod_limit, max=9, current=MIB, anon=0)
    assert node.tick()[None].kernel_peak_bytes == 200 * MIB, "the container went with its limit"
