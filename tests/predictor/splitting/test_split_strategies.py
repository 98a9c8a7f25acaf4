"""What all strategies have in common, and what the ones in use reach."""

from __future__ import annotations

import pytest

from plimsoll_predictor.replay.splitting.memory import Container, Need, play_leased
from plimsoll_predictor.replay.splitting.playing import (
    Array,
    even_all,
    even_s,
    lognormal_items,
    play,
)
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.catalogue import SERVES, STRATEGIES
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut, Strategy

MB = 10**6


def job_of(cut: Cut, items: int = 1_000) -> Job:
    return Job(items, 8, 1.5, 0.05) if cut is Cut.LEASED else Job(items, 8, 0.0, 1.5)


def items(seed: int, median_s: float = 1.0, sigma: float = 1.0, count: int = 1_000) -> Array:
    return lognormal_items(count, median_s, sigma, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("cut", Cut)
def test_every_item_is_done_once_and_again_alike(name: str, cut: Cut) -> None:
    def runs(strategy: Strategy) -> list[tuple[float, int]]:
        played = [play(strategy, job_of(cut), items(run), cut) for run in range(3)]
        return [(each.makespan_s, each.chunks) for each in played]

    found = runs(STRATEGIES[name]())
    assert found == runs(STRATEGIES[name]())
    for run, (makespan_s, chunks) in enumerate(found):
        assert makespan_s >= 1.5 + items(run).sum() / 8
        assert 1 <= chunks <= 1_000


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("cut", Cut)
def test_a_run_of_very_few_items_after_one_of_many(name: str, cut: Cut) -> None:
    strategy = STRATEGIES[name]()
    play(strategy, job_of(cut), items(1), cut)
    assert play(strategy, job_of(cut, 2), items(2, count=2), cut).chunks in {1, 2}
    assert play(strategy, job_of(cut, 1), items(3, count=1), cut).chunks == 1


@pytest.mark.slow
@pytest.mark.parametrize("median_s", [0.01, 1.0])
@pytest.mark.parametrize("sigma", [0.5, 1.5])
@pytest.mark.parametrize("cut", Cut)
def test_what_serves_is_near_the_best_even_chunk_from_the_second_run_on(
    cut: Cut, median_s: float, sigma: float
) -> None:
    taken = 0.0
    job, judged = job_of(cut, 4_000), []
    for task in range(4):
        strategy = STRATEGIES[SERVES[cut]]()
        drawn = [items(10 * task + run, median_s, sigma, 4_000) for run in range(3)]
        makespans = [play(strategy, job, times, cut).makespan_s for times in drawn]
        taken += sum(makespans[1:])
        judged += drawn[1:]
    best = min(sum(row) for row in even_all(job, judged).values())
    assert taken <= 1.05 * best


def test_leases_find_their_size_within_the_first_run() -> None:
    job = job_of(Cut.LEASED)
    for median_s in (0.01, 1.0):
        times = items(5, median_s, 0.5)
        best = min(row[0] for row in even_all(job, [times]).values())
        assert play(Guided(), job, times, Cut.LEASED).makespan_s <= 1.1 * best


def test_what_costs_a_thousand_times_as_much_is_noticed_within_the_run() -> None:
    job = job_of(Cut.LEASED)
    guided = Guided()
    play(guided, job, items(1, 0.001), Cut.LEASED)
    slow = items(2, 1.0, 0.5)
    share = even_s(job, slow, job.share)
    assert play(guided, job, slow, Cut.LEASED).makespan_s <= 1.1 * share


def test_a_job_in_half_of_its_memory_finishes_without_a_kill() -> None:
    job = Job(2_000, 16, 1.5, 0.05)
    need = Need(60 * MB, 2.6 * MB, 0.05)
    half = round(need.base_bytes + job.share * need.slope_bytes) // 2
    for seed in range(5):
        times = lognormal_items(2_000, 0.2, 0.5, seed)
        played = play_leased(Guided(half), job, times, Container(half, need, seed))
        assert played.kills == 0
        assert played.makespan_s < 1.1 * even_s(job, times, job.share)


def test_a_worker_that_is_killed_has_its_items_done_in_smaller_chunks() -> None:
    job = Job(2_000, 16, 1.5, 0.05)
    # Beyond 20 items a chunk needs far more than by a line, so the kill cannot be foreseen.
    need = Need(60 * MB, 1.0 * MB, 0.5)
    times = lognormal_items(2_000, 0.2, 0.5, 1)
    played = play_leased(Guided(120 * MB), job, times, Container(120 * MB, need, 1))
    assert played.kills > 0
    assert played.makespan_s >= job.bound_s(float(times.sum()))


@pytest.mark.parametrize(("surely", "items"), [(False, 2), (True, 1)])
def test_where_no_worker_is_tried_again_chunks_grow_only_into_what_surely_holds_them(
    surely: bool, items: int
) -> None:
    """Each needed 100 MB alone: two need at most 200, and 150 if half of it belongs to no item."""
    guided = Guided(180 * 10**6, surely=surely)
    guided.begin(Job(10_000, 2, 0.0, 0.05), Cut.LEASED)
    for _ in range(200):
        guided.done(Chunk(1, 0.01, 100 * 10**6))
    assert guided.next_items(10_000) == items
