"""The estimator: readings in, running maxima out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.agent.cgroup_memory import CgroupSample
from plimsoll_operator.agent.need import Peaks, held_bytes
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import a_reading, peaks_of


def mib(reading: dict[str, int | None]) -> CgroupSample:
    """A reading written in MiB, except counts."""
    counts = ("limit_hits",)
    return a_reading(**{k: v if v is None or k in counts else v * MIB for k, v in reading.items()})


def need_mib(*readings: dict[str, int | None]) -> int:
    return round(peaks_of([mib(each) for each in readings]).need_peak_bytes / MIB)


QUIET: dict[str, int | None] = {"usage_bytes": 10, "kernel_peak_bytes": 10, "anon_bytes": 10}


def test_plain_memory_is_its_own_need() -> None:
    assert need_mib(QUIET) == 10


def test_page_cache_is_no_need() -> None:
    full_of_cache: dict[str, int | None] = {
        **QUIET, "usage_bytes": 200, "kernel_peak_bytes": 200, "inactive_file_bytes": 120,
        "active_file_bytes": 70, "limit_bytes": 200,
    }  # fmt: skip
    assert need_mib(QUIET, full_of_cache) == 10


def test_tmpfs_is_a_need() -> None:
    # It is charged to the cgroup, but stands on the anonymous lists.
    written: dict[str, int | None] = {
        **QUIET, "usage_bytes": 130, "kernel_peak_bytes": 130, "shmem_bytes": 120,
    }  # fmt: skip
    assert need_mib(QUIET, written) == 130


def test_kernel_caches_of_files_are_no_need() -> None:
    walked: dict[str, int | None] = {
        **QUIET, "usage_bytes": 90, "kernel_peak_bytes": 90, "slab_reclaimable_bytes": 80,
    }  # fmt: skip
    assert need_mib(QUIET, walked) == 10


def test_mapped_pages_in_active_use_are_a_need() -> None:
    program_text: dict[str, int | None] = {
        **QUIET, "usage_bytes": 70, "kernel_peak_bytes": 70, "active_file_bytes": 60,
        "mapped_file_bytes": 45,
    }  # fmt: skip
    assert need_mib(program_text) == 55


def test_a_mapped_file_that_is_passed_over_once_is_no_need() -> None:
    streamed: dict[str, int | None] = {
        **QUIET, "usage_bytes": 200, "kernel_peak_bytes": 200, "inactive_file_bytes": 190,
        "mapped_file_bytes": 180,
    }  # fmt: skip
    assert need_mib(streamed) == 10


def test_a_spike_between_two_readings_is_known_from_the_kernels_peak() -> None:
    after: dict[str, int | None] = {**QUIET, "kernel_peak_bytes": 160}
    assert need_mib(QUIET, after) == 160


def test_a_spike_beside_page_cache_is_told_from_it() -> None:
    before: dict[str, int | None] = {
        **QUIET, "usage_bytes": 60, "kernel_peak_bytes": 60, "inactive_file_bytes": 50,
    }  # fmt: skip
    assert need_mib(before, {**before, "kernel_peak_bytes": 200}) == 150


def test_a_kernel_peak_that_did_not_rise_says_nothing_new() -> None:
    before: dict[str, int | None] = {
        **QUIET, "usage_bytes": 200, "kernel_peak_bytes": 200, "inactive_file_bytes": 190,
    }  # fmt: skip
    cache_dropped: dict[str, int | None] = {**QUIET, "kernel_peak_bytes": 200}
    assert need_mib(before, cache_dropped) == 10


AT_LIMIT: dict[str, int | None] = {
    **QUIET, "usage_bytes": 200, "kernel_peak_bytes": 200, "inactive_file_bytes": 190,
    "limit_bytes": 200, "limit_hits": 40, "reclaimed_bytes": 80,
}  # fmt: skip


def test_a_spike_at_the_limit_is_known_from_the_cache_it_pushed_out() -> None:
    after: dict[str, int | None] = {
        **AT_LIMIT, "usage_bytes": 45, "inactive_file_bytes": 35, "limit_hits": 120,
        "reclaimed_bytes": 235,
    }  # fmt: skip
    assert need_mib(AT_LIMIT, after) == 165


def test_a_spike_is_known_though_the_kernel_still_counts_the_cache_it_pushed_out() -> None:
    # memory.stat may be up to 2 s old; usage never is.
    before: dict[str, int | None] = {
        **QUIET, "usage_bytes": 200, "kernel_peak_bytes": 200, "inactive_file_bytes": 190,
        "limit_bytes": 200,
    }  # fmt: skip
    after = {**before, "usage_bytes": 60, "limit_hits": 70, "reclaimed_bytes": 140}
    assert need_mib(before, after) == 140


def test_cache_deleted_at_the_limit_is_not_taken_for_a_spike() -> None:
    # Two hits reclaimed 4 MiB; the other 186 MiB of cache went with their file.
    after: dict[str, int | None] = {
        **QUIET, "kernel_peak_bytes": 200, "limit_bytes": 200, "limit_hits": 42,
        "reclaimed_bytes": 84,
    }  # fmt: skip
    assert need_mib(AT_LIMIT, after) == 14


def test_streaming_at_the_limit_stays_no_need_however_often_it_is_hit() -> None:
    streaming = [
        {**AT_LIMIT, "limit_hits": 40 + 100 * n, "reclaimed_bytes": 80 + 400 * n} for n in range(20)
    ]
    assert need_mib(*streaming) == 10


def test_a_temporary_file_that_was_seen_is_not_taken_for_a_spike_when_it_goes() -> None:
    spilled: dict[str, int | None] = {
        **QUIET, "usage_bytes": 900, "kernel_peak_bytes": 900, "inactive_file_bytes": 890,
    }  # fmt: skip
    gone: dict[str, int | None] = {**QUIET, "kernel_peak_bytes": 950}
    assert need_mib(QUIET, spilled, gone) == 60  # 50 of them written after the last reading


def test_a_pod_first_seen_after_its_end_needs_its_peak_less_the_cache_left() -> None:
    over: dict[str, int | None] = {
        "usage_bytes": 100, "kernel_peak_bytes": 260, "anon_bytes": 0, "inactive_file_bytes": 100,
    }  # fmt: skip
    assert need_mib(over) == 160


def test_a_kill_at_the_limit_shows_the_limit() -> None:
    killed: dict[str, int | None] = {
        "usage_bytes": 1, "kernel_peak_bytes": 100, "anon_bytes": 0, "limit_bytes": 100,
        "limit_hits": 30, "inactive_file_bytes": 0,
    }  # fmt: skip
    assert need_mib({**QUIET, "limit_bytes": 100}, killed) == 100


def test_a_kernel_without_a_peak_is_sampled() -> None:
    older = [{**QUIET, "usage_bytes": n, "anon_bytes": n, "kernel_peak_bytes": None}
             for n in (10, 80, 20)]  # fmt: skip
    peaks = peaks_of([mib(each) for each in older])
    assert (peaks.need_peak_bytes, peaks.kernel_peak_bytes) == (80 * MIB, 80 * MIB)


def test_a_kernel_without_a_peak_still_knows_that_the_limit_was_touched() -> None:
    before: dict[str, int | None] = {**QUIET, "kernel_peak_bytes": None, "limit_bytes": 100}
    killed: dict[str, int | None] = {**before, "limit_hits": 9, "usage_bytes": 2, "anon_bytes": 1}
    assert need_mib(before, killed) == 100
    assert need_mib(killed) == 100


def test_a_limit_that_was_raised_after_it_was_touched_was_not_used_up() -> None:
    before: dict[str, int | None] = {
        **QUIET, "kernel_peak_bytes": None, "limit_bytes": 200, "usage_bytes": 200,
        "inactive_file_bytes": 190,
    }  # fmt: skip
    raised: dict[str, int | None] = {**before, "limit_bytes": 300, "limit_hits": 5}
    assert need_mib(before, raised) == 10
    peaks = peaks_of([mib(before), mib(raised)])
    assert peaks.kernel_peak_bytes == 200 * MIB
    assert need_mib({**before, "limit_bytes": 300}, {**raised, "limit_bytes": 200}) == 10


def test_counters_that_went_back_start_a_new_life_and_lose_no_maximum() -> None:
    reborn: dict[str, int | None] = {
        "usage_bytes": 30, "kernel_peak_bytes": 60, "anon_bytes": 30, "limit_hits": 0,
    }  # fmt: skip
    assert need_mib(AT_LIMIT, reborn) == 60
    assert need_mib({**QUIET, "usage_bytes": 90, "kernel_peak_bytes": 90}, reborn) == 90


SWAPPED: dict[str, int | None] = {
    **QUIET, "usage_bytes": 30, "kernel_peak_bytes": 30, "anon_bytes": 30, "limit_bytes": 60,
    "swapped_bytes": 20,
}  # fmt: skip


def test_what_is_in_swap_is_a_need() -> None:
    assert need_mib(SWAPPED) == 50
    assert need_mib({**SWAPPED, "swapped_bytes": 0}) == 30


def test_what_went_to_swap_after_the_highest_usage_is_not_counted_twice() -> None:
    full = {**SWAPPED, "kernel_peak_bytes": 60, "limit_hits": 3}
    assert need_mib({**SWAPPED, "swapped_bytes": 0}, full) == 60
    assert need_mib(SWAPPED, full) == 80, "it was in swap before"


def test_a_maximum_with_swap_lies_below_no_other() -> None:
    peaks = peaks_of([mib(SWAPPED)])
    assert peaks.anon_peak_bytes == 30 * MIB
    assert peaks.need_peak_bytes == peaks.kernel_peak_bytes == 50 * MIB


def test_a_limit_of_memory_is_not_nearer_for_what_is_in_swap() -> None:
    assert held_bytes(mib(SWAPPED)) == 30 * MIB


def test_a_limit_that_was_raised_while_running_is_the_one_reported() -> None:
    peaks = peaks_of([mib(AT_LIMIT), mib({**AT_LIMIT, "limit_bytes": 400})])
    assert peaks.limit_bytes == 400 * MIB


def test_cpu_time_never_falls() -> None:
    peaks = peaks_of([a_reading(cpu_s=7.5), a_reading(cpu_s=None), a_reading(cpu_s=2.0)])
    assert peaks.cpu_s == pytest.approx(7.5)


def test_an_unchanged_estimator_is_returned_by_advance() -> None:
    before = Peaks()
    before.advance(a_reading())
    assert before == Peaks()


SIZES = st.integers(0, 2**40)


@st.composite
def readings(draw: st.DrawFn) -> CgroupSample:
    return a_reading(
        usage_bytes=draw(SIZES),
        kernel_peak_bytes=draw(st.none() | SIZES),
        anon_bytes=draw(SIZES),
        shmem_bytes=draw(SIZES),
        inactive_file_bytes=draw(SIZES),
        active_file_bytes=draw(SIZES),
        mapped_file_bytes=draw(SIZES),
        slab_reclaimable_bytes=draw(SIZES),
        reclaimed_bytes=draw(SIZES),
        limit_bytes=draw(st.none() | SIZES),
        limit_hits=draw(st.integers(0, 1000)),
        swapped_bytes=draw(SIZES),
    )


@pytest.mark.slow
@given(st.lists(readings(), min_size=2, max_size=8))
def test_maxima_never_fall_and_keep_their_order(life: list[CgroupSample]) -> None:
    before = Peaks()
    for reading in life:
        after = before.advance(reading)
        assert after.need_peak_bytes >= before.need_peak_bytes
        assert after.kernel_peak_bytes >= before.kernel_peak_bytes
        assert 0 <= after.anon_peak_bytes <= after.need_peak_bytes <= after.kernel_peak_bytes
        assert 0 <= after.working_set_peak_bytes <= after.kernel_peak_bytes
        before = after
