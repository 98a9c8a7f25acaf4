"""A peak that follows its allocation is recognised, and sizes do not sink with it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.elasticity import LATEST, MOST_LEVELS, Elasticity
from plimsoll_predictor.experts.failures import AttemptAt
from plimsoll_predictor.experts.floors import Floors
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from plimsoll_predictor.knowledge.knowledge import Knowledge

SIZES_MIB = (4096, 2048, 1024, 512)
_CHANCE = random.Random(1)


def learned(
    peak_of: Callable[[float], float],
    runtime_of: Callable[[float], float | None] = lambda _: 100.0,
    features_of: Callable[[int], dict[str, FeatureValue]] = lambda _: {},
    sizes_mib: tuple[int, ...] = SIZES_MIB,
    written_mib: int = SIZES_MIB[0],
) -> Elasticity:
    """Ten runs at each size, the largest first; peaks and runtimes by the size in Mi."""
    elasticity = Elasticity()
    for size_mib in sizes_mib:
        for run in range(10):
            elasticity.learn(
                features_of(run),
                size_mib * MIB,
                peak_of(size_mib) * MIB,
                runtime_of(size_mib),
                lowered=size_mib < written_mib,
            )
    return elasticity


def follows(size_mib: float) -> float:
    return 0.9 * size_mib


@pytest.mark.parametrize(
    "peak_of",
    [
        pytest.param(follows, id="a cache that fills its limit"),
        pytest.param(lambda size_mib: 0.3 * size_mib, id="a JVM's default heap"),
        pytest.param(lambda size_mib: 0.8 * size_mib + 20, id="with a little beside it"),
    ],
)
def test_a_peak_that_is_the_same_share_of_every_allocation_is_elastic(
    peak_of: Callable[[float], float],
) -> None:
    assert learned(peak_of).is_elastic


def test_a_task_that_works_on_something_else_each_time_is_not_compared() -> None:
    assert not learned(follows, features_of=lambda run: {"rows": run}).is_elastic


@pytest.mark.parametrize(
    "peak_of",
    [
        pytest.param(lambda _: 400.0, id="one need at all sizes"),
        pytest.param(lambda size_mib: 300 + 0.3 * size_mib, id="mostly one need"),
        pytest.param(
            lambda size_mib: _CHANCE.uniform(0.4, 0.95) * size_mib,
            id="needs that vary from run to run",
        ),
    ],
)
def test_a_need_that_does_not_follow_is_not(peak_of: Callable[[float], float]) -> None:
    assert not learned(peak_of).is_elastic


@pytest.mark.parametrize("sizes_mib", [(4096, 2048), (1000, 1010, 1020, 1030), (1200, 1040, 900)])
def test_allocations_that_hardly_differ_show_nothing(sizes_mib: tuple[int, ...]) -> None:
    assert not learned(follows, sizes_mib=sizes_mib).is_elastic


@pytest.mark.parametrize(
    ("runtime_of", "least_mib"),
    [
        pytest.param(lambda _: 100.0, 512, id="as fast at every size"),
        pytest.param(lambda mib: 100.0 if mib >= 2048 else 250.0, 2048, id="slow below 2Gi"),
        pytest.param(lambda mib: 4e5 / mib, 4096, id="slower with each step"),
        pytest.param(lambda mib: 250.0 if mib == 1024 else 100.0, 2048, id="slow between"),
        pytest.param(lambda mib: None if mib < 2048 else 100.0, 2048, id="nobody timed the least"),
        pytest.param(lambda _: None, None, id="nobody timed any"),
    ],
)
def test_the_floor_is_where_runtimes_begin_to_suffer(
    runtime_of: Callable[[float], float | None], least_mib: int | None
) -> None:
    good_bytes = learned(follows, runtime_of).good_bytes
    assert good_bytes == (None if least_mib is None else least_mib * MIB)


def test_an_elastic_task_of_which_nobody_knows_runtimes_stays_as_written() -> None:
    floors = Floors(elasticity=learned(follows, lambda _: None))
    assert floors.floor == Floor(None, FloorKind.ELASTIC)


def test_runs_that_were_never_as_written_say_nothing_of_how_fast_those_are() -> None:
    assert learned(follows, written_mib=8192).good_bytes is None


def test_an_elastic_task_stays_above_a_size_at_which_it_failed() -> None:
    floors = Floors(elasticity=learned(follows))
    floors.failed(AttemptAt("r", 1024 * MIB, lowered=True))
    assert floors.floor == Floor(2 * GIB, FloorKind.ELASTIC)
    assert floors.floor.words == "elastic: its peak follows its allocation; floor 2Gi"


def test_what_is_remembered_is_bounded() -> None:
    sizes_mib = tuple(round(100 * 1.2**place) for place in range(2 * MOST_LEVELS))
    levels = learned(follows, sizes_mib=sizes_mib).levels
    assert len(levels) == MOST_LEVELS
    assert all(len(level.shares) == len(level.runtimes_s) == LATEST for level in levels)


def test_allocations_that_only_ever_grew_may_have_followed_the_peak() -> None:
    assert not learned(follows, sizes_mib=SIZES_MIB[::-1]).is_elastic
    assert learned(follows, sizes_mib=(1024, 512, 2048, 4096)).is_elastic


@pytest.mark.parametrize("growth", [1.01, 1.02, 1.03])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_task_that_grows_and_is_sized_by_its_growth_is_not_elastic(
    growth: float, noise: float
) -> None:
    fleet, task, chance = TaskStandings(), TaskId("shop", "etl"), random.Random(3)
    known = Knowledge(task=task, policy=Policy(mode=Mode.ENFORCE))
    size_bytes = 16 * GIB
    for run in range(120):
        need_bytes = 512 * MIB * growth**run * chance.lognormvariate(0, noise)
        size_bytes = max(size_bytes, math.ceil(need_bytes))
        ended = EndedRun(need_bytes, 600.0, 16 * GIB)
        fleet.learn(str(task), Ended(run=ended, features={}, bids=None, overhead_s=None))
        standing = fleet.standing(str(task))
        attempt = AttemptAt(str(run), size_bytes, lowered=size_bytes < 16 * GIB)
        standing.floors.succeeded(attempt, need_bytes, 600.0, {})
        known = standing.inform(known)
        assert known.floor is None
        decision = decide(Ask(features={}, request_bytes=16 * GIB), known, Bounds())
        size_bytes = decision.allocation_bytes or 16 * GIB


def last_size_bytes(fast_from_bytes: int, runs: int = 200) -> int:
    """The size of a task's last run; its peak is half of its allocation.

    fast_from_bytes: with less, it takes twice the time.
    """
    chance, fleet, task = random.Random(7), TaskStandings(), TaskId("shop", "cache")
    known = Knowledge(task=task, policy=Policy(mode=Mode.ENFORCE, overhead_s=1.0))
    size_bytes = 4 * GIB
    for run in range(runs):
        peak_bytes = 0.5 * size_bytes * chance.uniform(0.97, 1.0)
        runtime_s = 600.0 if size_bytes >= fast_from_bytes else 1200.0
        ended = EndedRun(peak_bytes, runtime_s, 4 * GIB)
        fleet.learn(str(task), Ended(run=ended, features={}, bids=None, overhead_s=1.0))
        standing = fleet.standing(str(task))
        standing.floors.succeeded(
            AttemptAt(str(run), size_bytes, lowered=size_bytes < 4 * GIB), peak_bytes, runtime_s, {}
        )
        known = standing.inform(known)
        decision = decide(Ask(features={}, request_bytes=4 * GIB), known, Bounds())
        size_bytes = decision.allocation_bytes or 4 * GIB
    return size_bytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fast_from_mib", "least_mib", "most_mib"),
    [
        pytest.param(0, 500, 640, id="as fast at every size: the least that was tried"),
        pytest.param(1500, 2000, 2100, id="slow below 1.5Gi"),
        pytest.param(4096, 4096, 4096, id="slow at less than was written"),
    ],
)
def test_sizes_do_not_sink_with_the_peaks_that_follow_them(
    fast_from_mib: int, least_mib: int, most_mib: int
) -> None:
    assert least_mib * MIB <= last_size_bytes(fast_from_mib * MIB) <= most_mib * MIB
