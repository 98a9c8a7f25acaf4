"""Where many of a task's runs were killed, another is expected to need what these got since."""

from __future__ import annotations

import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.in_flight import InFlight
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.knowledge.constants import SERVED


def a_past(runs: int) -> Past:
    """Runs that needed 10 bytes each."""
    past = Past()
    for _ in range(runs):
        past.add(EndedRun(10.0, 60.0, 1000.0), {})
    return past


def lifted(*sizes_bytes: float) -> InFlight:
    in_flight = InFlight()
    for number, size_bytes in enumerate(sizes_bytes):
        in_flight.lifted(f"r{number}", size_bytes)
    return in_flight


@pytest.mark.parametrize(
    ("sizes_bytes", "runs", "floor_bytes"),
    [
        pytest.param((130.0, 130.0, 260.0), 3, 100, id="the one in the middle counts"),
        pytest.param((130.0, 260.0), 3, 100, id="of two the smaller"),
        pytest.param((130.0,), 1, 0, id="one alone is no burst"),
        pytest.param((130.0, 130.0), 8, 0, id="two beside many that succeeded are no burst"),
        pytest.param((1000.0, 1000.0, 260.0), 3, 200, id="who has the request says nothing"),
        pytest.param((1000.0, 1000.0), 3, 0, id="all have the request"),
        pytest.param((11.0, 11.0), 1, 0, id="what is known to be needed says as much"),
        pytest.param((130.0, 130.0), 0, 0, id="nothing is shown before the first has ended"),
    ],
)
def test_a_burst_raises_the_floor_to_what_killed_runs_have_now(
    sizes_bytes: tuple[float, ...], runs: int, floor_bytes: int
) -> None:
    assert SERVED.shown_room == 1.3
    assert lifted(*sizes_bytes).shown(a_past(runs)).floor_bytes == floor_bytes


def test_a_run_that_ended_counts_no_more() -> None:
    in_flight = lifted(130.0, 130.0)
    in_flight.ended("r0")
    assert in_flight.shown(a_past(1)).floor_bytes == 0
