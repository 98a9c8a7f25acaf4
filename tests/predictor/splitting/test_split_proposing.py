"""What is proposed for a job, and when nothing is proposed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll_predictor.splitting.costs import MOST_ITEMS, Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import MOST_CHUNKS, even_chunks, expected, listed_chunks
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.proposing import (
    MEMORY_TIME,
    Aim,
    Known,
    Verdict,
    leases_over_shares,
    propose,
    propose_leased,
    worthwhile_workers,
)
from plimsoll_predictor.splitting.sizes import even_sizes

MB = 10**6
PODS = Job(items=2_000, workers=16, start_s=0.0, wait_s=1.5)


def cost(item_s: float, spread: float = 0.5) -> Costs:
    return Costs(item_s, 0.0, spread * item_s, 0.01 * item_s, 0.0, 100.0)


def peak(base_mb: float, slope_mb: float, largest: int = 125) -> Peaks:
    return Peaks(base_mb * MB, slope_mb * MB, 0.05, 0.0, largest, largest / 2, apart=True)


def known(costs: Costs | None, peaks: Peaks | None = None, noise: float = 0.01) -> Known:
    return Known(costs, peaks, noise)


def test_of_a_task_without_runs_nothing_is_said() -> None:
    proposal = propose(PODS, known(None), Aim(), PODS.share)
    assert proposal.verdict is Verdict.UNKNOWN
    assert proposal.plan is None


def test_a_pod_an_item_is_found_to_cost_its_starts() -> None:
    proposal = propose(PODS, known(cost(0.2)), Aim(), usual_items=1)
    assert proposal.verdict is Verdict.CUT
    assert proposal.plan is not None
    assert proposal.gain > 0.7
    assert proposal.plan.largest > 50


def test_long_items_that_differ_are_cut_finer_than_a_share() -> None:
    proposal = propose(PODS, known(cost(5.0, spread=2.9)), Aim(), PODS.share)
    assert proposal.verdict is Verdict.CUT
    assert proposal.plan is not None
    assert proposal.plan.largest < PODS.share
    assert sum(proposal.plan.sizes(PODS, cost(5.0, 2.9))) == PODS.items


def test_where_the_share_is_best_there_is_nothing_to_gain() -> None:
    proposal = propose(PODS, known(cost(0.01)), Aim(), PODS.share)
    assert proposal.verdict is Verdict.NOTHING_TO_GAIN
    assert proposal.plan == proposal.usual


@pytest.mark.slow
def test_a_gain_that_noise_could_be_is_none() -> None:
    costs = cost(5.0, spread=1.0)
    quiet = propose(PODS, known(costs, noise=0.01), Aim(), PODS.share)
    noisy = propose(PODS, known(costs, noise=0.5), Aim(), PODS.share)
    assert quiet.verdict is Verdict.CUT
    assert noisy.verdict is Verdict.NOTHING_TO_GAIN
    assert noisy.gain == pytest.approx(quiet.gain)


def test_no_chunk_is_larger_than_its_container_holds() -> None:
    peaks = peak(50, 10)
    container = int(peaks.container_bytes(20)) + 1
    proposal = propose(PODS, known(cost(0.2), peaks), Aim(most_bytes=container), usual_items=1)
    assert proposal.plan is not None
    assert 1 <= proposal.plan.largest <= 20
    assert proposal.plan.memory_bytes is not None
    assert proposal.plan.memory_bytes <= 1.05 * container


@pytest.mark.slow
def test_memory_and_time_are_weighed_together() -> None:
    job = Job(2_000, 16, 1.5, 0.05)
    knows = known(cost(0.2), peak(50, 10))
    for_time = propose_leased(job, knows, Aim(), job.share)
    for_both = propose_leased(job, knows, Aim(MEMORY_TIME), job.share)
    assert for_time.verdict is Verdict.NOTHING_TO_GAIN
    assert for_both.verdict is Verdict.CUT
    assert for_both.plan is not None
    assert for_both.usual is not None
    assert for_both.plan.memory_bytes is not None
    assert for_both.usual.memory_bytes is not None
    assert for_both.plan.memory_bytes < for_both.usual.memory_bytes / 2
    assert for_both.plan.makespan.mean_s < 1.5 * for_both.usual.makespan.mean_s


def test_memory_that_does_not_grow_with_the_chunk_leaves_nothing_to_gain() -> None:
    job = Job(2_000, 16, 1.5, 0.05)
    proposal = propose_leased(job, known(cost(0.2), peak(255, 0)), Aim(MEMORY_TIME), job.share)
    assert proposal.verdict is Verdict.NOTHING_TO_GAIN


def test_workers_that_are_not_worth_their_start_are_left_out() -> None:
    few = Job(items=10, workers=512, start_s=1.5, wait_s=0.05)
    assert worthwhile_workers(few, cost(0.001)) == 1
    assert worthwhile_workers(PODS, cost(5.0)) == 16


@pytest.mark.slow
def test_the_same_question_has_the_same_answer() -> None:
    asked = (PODS, known(cost(5.0, 2.9)), Aim(), PODS.share)
    assert propose(*asked) == propose(*asked)


@pytest.mark.slow
def test_what_is_expected_is_what_many_drawn_runs_take() -> None:
    costs = cost(1.0, spread=1.0)
    chunks = even_chunks(PODS, 10)
    many = [expected(chunks, PODS, costs, seed).mean_s for seed in range(20)]
    least = (PODS.items * 1.0 + 200 * 1.5) / 16
    assert least < min(many) < max(many) < 1.2 * least


def test_a_weight_beyond_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        Aim(1.5)


@pytest.mark.parametrize("items", [1, 10, 124, 125, 126, 1999, 2000, 10**9])
def test_even_chunks_are_counted_as_they_would_be_listed(items: int) -> None:
    listed = listed_chunks(PODS, even_sizes(PODS, min(items, PODS.items)))
    assert even_chunks(PODS, items) == listed


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.sampled_from([1, 7, 10_000_000, MOST_ITEMS]),
    st.sampled_from([1, 64]),
    st.sampled_from([0.0, 1.5]),
    st.sampled_from([1e-9, 0.2, 1e6]),
    st.sampled_from([0.0, 0.5, 50.0]),
    st.sampled_from([1, 10**9]),
)
def test_no_job_is_too_large_or_too_odd_for_a_proposal(
    items: int, workers: int, wait_s: float, item_s: float, spread: float, usual: int
) -> None:
    job = Job(items, workers, 1.5, wait_s)
    for ask in (propose, propose_leased):
        proposal = ask(job, known(cost(item_s, spread)), Aim(), usual)
        assert proposal.plan is not None
        assert 1 <= proposal.plan.largest <= items
        assert proposal.usual == proposal.plan or proposal.plan.chunks <= MOST_CHUNKS
        assert 0 <= proposal.gain < 1
        assert 1 <= proposal.workers <= workers


LEASING = Job(items=2_000, workers=16, start_s=2.0, wait_s=0.05)


def test_leases_save_where_items_differ_and_nothing_where_they_are_alike() -> None:
    uneven = leases_over_shares(LEASING, known(cost(5.0, spread=2.9)), 12, LEASING.share)
    assert uneven.verdict is Verdict.CUT
    assert uneven.gain > 0.1
    assert uneven.plan is not None
    assert uneven.usual is not None
    assert (uneven.plan.largest, uneven.usual.largest) == (12, LEASING.share)
    alike = leases_over_shares(LEASING, known(cost(5.0, spread=0.01)), 12, LEASING.share)
    assert alike.verdict is Verdict.NOTHING_TO_GAIN


def test_of_leases_of_a_task_without_runs_nothing_is_said() -> None:
    assert leases_over_shares(LEASING, known(None), 1, 125).verdict is Verdict.UNKNOWN


@pytest.mark.slow
def test_more_leases_than_are_worth_a_look_gain_nothing() -> None:
    many = Job(items=MOST_CHUNKS + 1, workers=1, start_s=2.0, wait_s=0.0)
    found = leases_over_shares(many, known(cost(5.0, spread=2.9)), 1, many.share)
    assert found.verdict is Verdict.NOTHING_TO_GAIN
