"""The agent's estimate against real processes in real memory cgroups. Needs root."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER
from tests.rigs.node.real_pods import a_cold_file, a_real_pod, follow, follow_steps

OVERHEAD_BYTES = 24 * MIB
"""A bare Python interpreter with its page tables and the kernel's memory for it."""


@pytest.mark.slow
def test_a_task_that_holds_memory_needs_that_memory() -> None:
    with a_real_pod() as pod:
        child = pod.start("import time; held = b'x' * 150_000_000; time.sleep(1.5)")
        reports = follow(pod, child)

    for report in reports.values():
        assert 150_000_000 <= report.need_peak_bytes <= 150_000_000 + OVERHEAD_BYTES
        assert report.final
    cpu_s = reports[None].cpu_s
    assert cpu_s is not None
    assert 0.01 < cpu_s < 5


@pytest.mark.slow
def test_reading_a_file_larger_than_the_limit_is_not_a_need(tmp_path: Path) -> None:
    file = a_cold_file(tmp_path / "table", 400 * MIB)
    start_it = f"table = open({str(file)!r}, 'rb')"
    read_a_part = "for _ in range(10): table.read(4_000_000)"
    with a_real_pod() as pod:
        steps = [start_it, *[read_a_part] * 10] * 2
        reports = follow_steps(pod.limit(200 * MIB), steps)

    whole = reports[None]
    assert whole.kernel_peak_bytes >= 199 * MIB
    assert whole.limit_bytes == 200 * MIB
    assert whole.need_peak_bytes < 50 * MIB
    assert reports[CONTAINER].need_peak_bytes < 50 * MIB


@pytest.mark.slow
def test_a_hot_file_that_is_read_again_and_again_is_not_a_need(tmp_path: Path) -> None:
    file = a_cold_file(tmp_path / "table", 120 * MIB)
    read_it = f"""
with open({str(file)!r}, 'rb') as table:
    while table.read(1_000_000):
        pass
"""
    with a_real_pod() as pod:
        reports = follow_steps(pod.limit(200 * MIB), [read_it] * 4)

    # Kubelet's working set does count it, which is why the need may lie below.
    assert reports[None].working_set_peak_bytes > 110 * MIB
    assert reports[None].need_peak_bytes < 50 * MIB


@pytest.mark.slow
def test_a_spike_between_two_readings_is_seen() -> None:
    with a_real_pod() as pod:
        reports = follow_steps(pod, ["", "held = b'x' * 150_000_000; del held"])

    assert 150_000_000 <= reports[None].need_peak_bytes <= 150_000_000 + OVERHEAD_BYTES
    assert reports[None].working_set_peak_bytes < 100_000_000


@pytest.mark.slow
def test_a_container_of_a_moment_is_seen_in_its_pods_cgroup_after_its_end() -> None:
    with a_real_pod() as pod:
        child = pod.start("held = b'x' * 150_000_000; import time; time.sleep(0.3)")
        child.wait()
        pod.remove_container()
        child_after_its_end = pod.start_nothing()
        reports = follow(pod, child_after_its_end)

    assert CONTAINER not in reports
    assert 150_000_000 <= reports[None].need_peak_bytes <= 150_000_000 + OVERHEAD_BYTES


@pytest.mark.slow
def test_a_container_of_a_moment_that_left_page_cache_is_not_charged_for_it(tmp_path: Path) -> None:
    file = a_cold_file(tmp_path / "table", 100 * MIB)
    hold_and_read = f"""
held = b'x' * 60_000_000
with open({str(file)!r}, 'rb') as table:
    while table.read(1_000_000):
        pass
"""
    with a_real_pod() as pod:
        pod.start(hold_and_read).wait()
        reports = follow(pod, pod.start_nothing())

    assert 60_000_000 <= reports[None].need_peak_bytes <= 60_000_000 + OVERHEAD_BYTES


@pytest.mark.slow
def test_a_spike_at_the_limit_that_pushes_cache_out_is_a_need(tmp_path: Path) -> None:
    file = a_cold_file(tmp_path / "table", 300 * MIB)
    fill_the_cache = f"""
with open({str(file)!r}, 'rb') as table:
    while table.read(4_000_000):
        pass
"""
    spike = "held = b'x' * 150_000_000; del held"
    with a_real_pod() as pod:
        reports = follow_steps(pod.limit(200 * MIB), [fill_the_cache, spike])

    assert 150_000_000 <= reports[None].need_peak_bytes <= 200 * MIB
    assert reports[None].anon_peak_bytes < 50 * MIB


@pytest.mark.slow
def test_an_oom_killed_task_needs_its_whole_limit() -> None:
    with a_real_pod() as pod:
        child = pod.limit(100 * MIB).start("held = [b'x' * 1_000_000 for _ in range(400)]")
        reports = follow(pod, child)

    assert child.returncode == -signal.SIGKILL
    assert reports[None].kernel_peak_bytes >= 99 * MIB
    assert reports[None].need_peak_bytes >= 90 * MIB


@pytest.mark.slow
def test_files_on_tmpfs_are_a_need() -> None:
    write_to_memory = """
import os, tempfile
file = tempfile.TemporaryFile(dir='/dev/shm')
for _ in range(120):
    file.write(os.urandom(1_000_000))
file.flush()
"""
    with a_real_pod() as pod:
        reports = follow_steps(pod, [write_to_memory])

    assert 120_000_000 <= reports[None].need_peak_bytes <= 120_000_000 + OVERHEAD_BYTES
    assert reports[None].anon_peak_bytes < 50_000_000
    assert reports[None].working_set_peak_bytes >= 120_000_000


@pytest.mark.slow
def test_a_temporary_file_is_no_need_once_it_was_seen_as_cache(tmp_path: Path) -> None:
    spill = f"""
import os
file = open({str(tmp_path / "spill")!r}, 'wb', 0)
for _ in range(200):
    file.write(bytes(1_000_000))
"""
    spill_more_and_delete = f"""
for _ in range(20):
    file.write(bytes(1_000_000))
os.unlink({str(tmp_path / "spill")!r})
file.close()
"""
    with a_real_pod() as pod:
        reports = follow_steps(pod, [spill, spill_more_and_delete])

    assert reports[None].kernel_peak_bytes > 220_000_000
    # Only pages that the last interval wrote count as need.
    assert reports[None].need_peak_bytes < 20_000_000 + OVERHEAD_BYTES
