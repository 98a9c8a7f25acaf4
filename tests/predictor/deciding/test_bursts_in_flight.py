"""First sizes and lifts while a task's runs are under way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.bursts import failing_runs, fails_in_burst, over_shown
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.expert_names import REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.ladder import Climb, lifted_bytes
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.knowledge.shown import Shown
from tests.builders.experts.serving import AKnownTask

NOW_S = 10_000.0


def a_task(shown: Shown, runs: int = 2) -> Knowledge:
    """A task whose runs needed at most 100Mi; the bid is 101Mi."""
    rule = Rule(base_bytes=101.0 * MIB)
    built = AKnownTask().built
    return replace(
        built,
        champion="near-max",
        rule=rule,
        runs=runs,
        max_need_bytes=100 * MIB,
        largest_bytes=100 * MIB,
        shown=shown,
    )


def first_size(task: Knowledge, request_mib: int | None = 1024) -> tuple[float, str]:
    request_bytes = None if request_mib is None else request_mib * MIB
    ask = Ask(features={}, request_bytes=request_bytes, now_s=NOW_S)
    decision = decide(ask, task, Bounds(cap_bytes=64 * GIB))
    return (decision.allocation_bytes or 0) / MIB, decision.why


@pytest.mark.parametrize(
    ("shown", "request_mib", "size_mib"),
    [
        pytest.param(Shown(), 1024, 101, id="nothing is shown"),
        pytest.param(Shown(floor_bytes=200 * MIB), 1024, 260, id="others have reached more"),
        pytest.param(Shown(floor_bytes=900 * MIB), 1024, 1024, id="not above the request"),
        pytest.param(Shown(floor_bytes=900 * MIB), 512, 900, id="but what was reached is needed"),
        pytest.param(Shown(floor_bytes=90 * MIB), 1024, 101, id="less than is known is no news"),
    ],
)
def test_what_running_attempts_have_reached_raises_a_first_size(
    shown: Shown, request_mib: int, size_mib: int
) -> None:
    size, why = first_size(a_task(shown), request_mib)
    assert size == pytest.approx(size_mib, abs=1)
    assert ("running attempts have reached" in why) == (size_mib != 101)


def test_the_request_is_no_cheapest_choice_where_others_have_reached_more() -> None:
    task = replace(a_task(Shown(floor_bytes=900 * MIB)), champion=REQUEST)
    ask = Ask(features={}, request_bytes=512 * MIB, now_s=NOW_S)
    decision = decide(ask, task, Bounds())
    assert (decision.allocation_bytes or 0) >= 900 * MIB
    assert decision.reason is Reason.MAX_SEEN


@pytest.mark.parametrize(
    ("started_s", "runs", "size_mib"),
    [
        pytest.param((NOW_S - 400,), 1, 160, id="one outlasts the one that ended"),
        pytest.param((NOW_S - 50,), 1, 101, id="it has not run longer yet"),
        pytest.param((NOW_S - 400,), 3, 101, id="one beside three is too few"),
        pytest.param((NOW_S - 400, NOW_S - 300), 3, 160, id="two beside three are not"),
        pytest.param((NOW_S - 400,) * 4, 4, 101, id="four ended runs say it themselves"),
    ],
)
def test_runs_that_outlast_those_that_ended_make_room(
    started_s: tuple[float, ...], runs: int, size_mib: int
) -> None:
    shown = Shown(started_s=started_s, longest_s=100.0)
    assert first_size(a_task(shown, runs))[0] == pytest.approx(size_mib, abs=1)


def test_the_room_for_outlasting_runs_ends_at_the_request() -> None:
    shown = Shown(started_s=(NOW_S - 400,), longest_s=100.0)
    assert first_size(a_task(shown, 1), request_mib=128)[0] == 128


def test_knowledge_carries_what_is_shown() -> None:
    task = a_task(Shown(floor_bytes=7, started_s=(1.0, 2.0), longest_s=3.0))
    assert Knowledge.from_dict(task.to_dict()) == task


@pytest.mark.parametrize(
    ("failing", "runs", "burst"),
    [(0, 1, False), (1, 1, True), (1, 7, True), (1, 8, False), (2, 11, True), (2, 12, False)],
)
def test_a_burst_is_a_quarter_of_the_known_runs_and_two_at_least(
    failing: int, runs: int, *, burst: bool
) -> None:
    lifts = {f"r{number}": Lift(2, 2, 1) for number in range(failing)}
    task = replace(a_task(Shown(), runs), lifts=lifts)
    assert fails_in_burst("this one", task) is burst
    assert fails_in_burst("r0", replace(task, runs=100)) is False


def test_a_lift_that_stays_for_siblings_after_a_success_is_no_failing_run() -> None:
    lifts = {f"r{number}": Lift(2, 2, 1, answered=True) for number in range(9)}
    task = replace(a_task(Shown(), runs=1), lifts=lifts)
    assert (fails_in_burst("this one", task), failing_runs(task)) == (False, 0)


def test_a_lift_goes_over_what_others_have_reached() -> None:
    shown = a_task(Shown(floor_bytes=400 * MIB))
    assert over_shown(150 * MIB, 1000 * MIB, shown) == pytest.approx(520 * MIB)
    assert over_shown(600 * MIB, 1000 * MIB, shown) == 600 * MIB


@pytest.mark.parametrize(
    ("climb", "sizes"),
    [
        pytest.param(Climb(request_bytes=1000.0), [20.0, 141.4, 1000.0, 2000.0], id="far below"),
        pytest.param(
            Climb(request_bytes=60.0), [20.0, 34.6, 60.0, 120.0], id="a request not far off"
        ),
        pytest.param(Climb(request_bytes=14.0), [14.0, 28.0], id="a request that is near"),
        pytest.param(
            Climb(request_bytes=1000.0, largest_bytes=50.0), [53.0, 230.2, 1000.0], id="known"
        ),
        pytest.param(
            Climb(request_bytes=1000.0, largest_bytes=11.0, in_burst=True),
            [20.0, 141.4, 1000.0],
            id="in a burst the largest need is no guide",
        ),
        pytest.param(Climb(), [20.0, 40.0, 80.0, 160.0], id="without a request it doubles"),
    ],
)
def test_the_request_is_reached_in_three_steps(climb: Climb, sizes: list[float]) -> None:
    size_bytes, climbed = 10.0, []
    for attempt in range(1, len(sizes) + 1):
        size_bytes = lifted_bytes(size_bytes, attempt, climb)
        climbed.append(size_bytes)
    assert climbed == pytest.approx(sizes, abs=0.1)


@pytest.mark.parametrize(
    ("bid_mib", "size_mib"),
    [(900, 900), (1500, 1100), (1100, 1100)],
)
def test_room_above_the_request_is_a_tenth_of_what_was_needed(bid_mib: int, size_mib: int) -> None:
    """A heap fills its allocation: more room would lead to larger peaks, and these to more room."""
    rule = Rule(base_bytes=float(bid_mib * MIB))
    task = replace(a_task(Shown()), rule=rule, max_need_bytes=1000 * MIB)
    assert first_size(task, request_mib=1024)[0] == pytest.approx(size_mib, abs=1)
