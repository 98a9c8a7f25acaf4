"""If many of a task's runs were killed, another is expected to need their present sizes."""

from __future__ import annotations

import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.in_flight import InFlight
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.knowledge.measured_constants import SERVED


def a_past(runs: int, request_bytes: float | None = 1000.0, need_bytes: float = 10.0) -> Past:
    """Runs that needed that much each."""
    past = Past()
    for _ in range(runs):
        past.add(EndedRun(need_bytes, 60.0, request_bytes), {})
    return past


def lifted(*sizes_bytes: int, attempt: int = 2, climbing: int = 0) -> InFlight:
    """Runs that were killed at half of these sizes; the first ``climbing`` of them climb."""
    in_flight = InFlight()
    for number, size_bytes in enumerate(sizes_bytes):
        in_flight.lifted(f"r{number}", Lift(size_bytes, attempt, size_bytes // 2))
        in_flight.climbs(f"r{number}", still=number < climbing)
    return in_flight


@pytest.mark.parametrize(
    ("sizes_bytes", "runs", "floor_bytes"),
    [
        pytest.param((130, 130, 260), 3, 100, id="the one in the middle counts"),
        pytest.param((130, 260), 3, 100, id="of two the smaller"),
        pytest.param((130,), 1, 0, id="one alone is no burst"),
        pytest.param((130, 130), 8, 0, id="two beside many that succeeded are no burst"),
        pytest.param((1000, 1000, 260), 3, 200, id="who has the request says nothing"),
        pytest.param((1000, 1000), 3, 0, id="all have the request"),
        pytest.param((11, 11), 1, 0, id="what is known to be needed says as much"),
        pytest.param((130, 130), 0, 0, id="nothing is shown before the first has ended"),
    ],
)
def test_a_burst_raises_the_floor_to_what_killed_runs_have_now(
    sizes_bytes: tuple[int, ...], runs: int, floor_bytes: int
) -> None:
    assert SERVED.shown_room == 1.3
    assert lifted(*sizes_bytes).shown(a_past(runs)).floor_bytes == floor_bytes


def test_a_run_that_ended_counts_no_more() -> None:
    in_flight = lifted(130, 130)
    in_flight.ended("r0")
    assert in_flight.shown(a_past(1)).floor_bytes == 0


NEXT = 392
"""The step after 154 bytes toward a request of 1000: their geometric mean."""


@pytest.mark.parametrize(
    ("in_flight", "past", "size_bytes"),
    [
        pytest.param(lifted(154, 154, 154, climbing=3), a_past(3), NEXT, id="all climb"),
        pytest.param(lifted(154, 154, 154, climbing=2), a_past(3), NEXT, id="most climb"),
        pytest.param(lifted(154, 154, 154, climbing=1), a_past(3), 154, id="most have stopped"),
        pytest.param(
            lifted(154, 154, 154, climbing=3), a_past(3, need_bytes=100), 154, id="one lived at it"
        ),
        pytest.param(
            lifted(154, 154, 154, climbing=3), a_past(3, need_bytes=77), NEXT, id="none lived at it"
        ),
        pytest.param(
            lifted(154, 154, 154, climbing=3, attempt=3), a_past(3), 154, id="third attempts"
        ),
        pytest.param(
            lifted(154, 154, 154, climbing=3), a_past(3, None), 154, id="nobody asked for anything"
        ),
        pytest.param(
            lifted(1540, 1540, 1540, climbing=3), a_past(3), 1540, id="beyond the request"
        ),
        pytest.param(
            lifted(700, 700, 700, climbing=3), a_past(3), 700, id="the request is the next step"
        ),
        pytest.param(
            lifted(154, 154, 154, 300, climbing=3),
            a_past(3),
            NEXT,
            id="one was given more at once",
        ),
        pytest.param(
            lifted(154, 300, 300, 300, climbing=4),
            a_past(3),
            300,
            id="who was given more at once counts with what it has",
        ),
        pytest.param(
            lifted(154, 154, 154, 160, climbing=3), a_past(3), NEXT, id="one has hardly more"
        ),
        pytest.param(lifted(154, climbing=1), a_past(1), 0, id="one alone is no burst"),
    ],
)
def test_a_size_in_which_siblings_still_climb_is_not_offered(
    in_flight: InFlight, past: Past, size_bytes: int
) -> None:
    floor_bytes = in_flight.shown(past).floor_bytes
    assert floor_bytes == pytest.approx(size_bytes / SERVED.shown_room, abs=1)


def test_siblings_that_were_killed_at_it_count_with_what_they_got_then() -> None:
    in_flight = lifted(154, 154, 154, climbing=3)
    in_flight.lifted("r3", Lift(300, 3, 154))
    floor_bytes = in_flight.shown(a_past(3)).floor_bytes
    assert floor_bytes == pytest.approx(NEXT / SERVED.shown_room, abs=1)


def test_a_lift_that_is_lower_than_the_one_before_says_nothing() -> None:
    in_flight = lifted(260, 260)
    for number in range(2):
        in_flight.lifted(f"r{number}", Lift(130, 2, 65))
    assert in_flight.shown(a_past(1)).floor_bytes == 200


def test_an_attempt_that_nobody_knows_does_not_climb() -> None:
    in_flight = lifted(154, 154)
    in_flight.climbs("other", still=True)
    assert len(in_flight) == 2
