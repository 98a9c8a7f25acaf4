"""Cores of the busiest minute, from readings some seconds apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.agent.cgroup_memory import CgroupSample
from plimsoll_operator.agent.cpu_pace import LONGEST_WINDOW_S, Pace
from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.pod_cgroups import Version, find_hierarchy, find_kubepods, scan
from plimsoll_operator.agent.sampler import FULL_READING_EVERY, Sampler
from plimsoll_operator.agent.spool import Spool, Spooled
from tests.builders.agent.cgroup_trees import UID, RecordedTree


def after(*readings: tuple[float, float]) -> Pace:
    """(at_s, cpu_s) one after another."""
    pace = Pace()
    for at_s, cpu_s in readings:
        pace = pace.advance(at_s, cpu_s)
    return pace


def test_a_minute_at_two_cores_is_two_cores() -> None:
    assert after((1000, 5), (1030, 65), (1060, 125)).peak_cores == 2.0


def test_the_busiest_minute_counts() -> None:
    assert after((0, 0), (60, 30), (120, 210), (180, 220)).peak_cores == 3.0


def test_less_than_a_minute_tells_no_pace() -> None:
    assert after((0, 0), (59, 100)).peak_cores is None


def test_a_burst_of_seconds_is_spread_over_its_minute() -> None:
    assert after((0, 0), (10, 80), (60, 90)).peak_cores == 1.5


def test_a_minute_that_was_not_watched_tells_nothing() -> None:
    assert after((0, 0), (LONGEST_WINDOW_S + 1, 9000)).peak_cores is None


def test_a_clock_that_counts_from_another_boot_begins_a_new_minute() -> None:
    pace = after((1000, 0), (900, 100), (960, 130))
    assert pace.peak_cores == 0.5


def test_a_cgroup_that_was_made_again_begins_a_new_minute() -> None:
    assert after((0, 500), (60, 3), (120, 63)).peak_cores == 1.0


A_READING = CgroupSample(
    usage_bytes=1,
    kernel_peak_bytes=1,
    anon_bytes=1,
    shmem_bytes=0,
    inactive_file_bytes=0,
    active_file_bytes=0,
    mapped_file_bytes=0,
    slab_reclaimable_bytes=0,
    reclaimed_bytes=0,
    limit_bytes=None,
    limit_hits=0,
    cpu_s=0.0,
)


def test_a_killed_agent_carries_on_within_the_minute(tmp_path: Path) -> None:
    key = ("uid", None)
    begun = Peaks().advance(A_READING, clock_s=1000.0)
    Spool(tmp_path).save(Spooled({key: begun}))
    restored = Spool(tmp_path).load().running[key]
    assert restored == begun
    ended = restored.advance(replace(A_READING, cpu_s=90.0), clock_s=1060.0)
    assert ended.pace.peak_cores == 1.5


def test_where_cpu_cannot_be_read_there_is_no_pace() -> None:
    blind = replace(A_READING, cpu_s=None)
    assert Peaks().advance(blind, clock_s=0.0).advance(blind, clock_s=60.0).pace == Pace()


@pytest.mark.slow
def test_a_task_whose_memory_stands_still_is_still_seen_to_spin(tmp_path: Path) -> None:
    """The sampler sometimes reads CPU even where nothing else moves; the last report has it."""
    pod = f"kubepods/burstable/pod{UID}"
    tree, clock_s = RecordedTree(tmp_path), 0.0
    sampler = Sampler(Version.V2, {}, lambda: 1_700_000_000.0, clock_s=lambda: clock_s)
    hierarchy = find_hierarchy(tree.root)
    for second in range(3 * FULL_READING_EVERY + 65):
        clock_s = float(second)
        tree.write(pod, usage_usec=2_500_000 * second)
        sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
    tree.remove(pod)
    (last,) = sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
    assert last.final
    assert last.peak_cores == pytest.approx(2.5)


@pytest.mark.slow
def test_a_wall_clock_that_is_set_back_makes_no_minute_longer(tmp_path: Path) -> None:
    pod = f"kubepods/burstable/pod{UID}"
    tree, clock_s, set_back_s = RecordedTree(tmp_path), 0.0, 0.0
    sampler = Sampler(Version.V2, {}, lambda: 1.7e9 + clock_s - set_back_s, clock_s=lambda: clock_s)
    hierarchy = find_hierarchy(tree.root)
    for second in range(4 * 60):
        clock_s, set_back_s = float(second), 50.0 if second > 55 else 0.0
        tree.write(pod, usage_usec=1_000_000 * second)
        sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
    (peaks,) = (each for each in sampler.running().values() if each.pace.peak_cores)
    assert peaks.pace.peak_cores == pytest.approx(1.0)
