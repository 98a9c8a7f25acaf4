"""A leak is told from a run that is larger than usual."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.growth import Point
from plimsoll_predictor.rescue.leaks import is_leak, is_line

USUAL = 100 * MIB


def a_line(to_mib: int, seconds: int = 20) -> list[Point]:
    return [(float(s), to_mib * MIB * s // seconds) for s in range(seconds + 1)]


def test_a_line_far_over_the_usual_size_is_a_leak() -> None:
    assert is_leak(a_line(200), USUAL)


@pytest.mark.parametrize(
    ("shape", "usual_bytes"),
    [
        pytest.param(a_line(140), USUAL, id="a line that is not so far over the usual size"),
        pytest.param(a_line(200), 0, id="a line of a task of which nothing is known"),
        pytest.param(
            [*a_line(100, 10), *((float(s), 100 * MIB) for s in range(11, 20)), (20.0, 200 * MIB)],
            USUAL,
            id="a curve that rested",
        ),
        pytest.param(
            [(float(s), int(200 * MIB * (1 - 0.7**s))) for s in range(15)],
            USUAL,
            id="a curve that flattens",
        ),
        pytest.param([(0.0, 0), (1.0, 300 * MIB)], USUAL, id="a curve of which little was seen"),
    ],
)
def test_no_leak_is(shape: list[Point], usual_bytes: int) -> None:
    assert not is_leak(shape, usual_bytes)


def test_what_never_rises_is_no_line() -> None:
    assert not is_line([(float(s), USUAL) for s in range(10)])
