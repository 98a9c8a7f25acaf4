"""Whether a retry still climbs, by an agent's reports and their times."""

from __future__ import annotations

import pytest

from plimsoll_operator.controller.attempts.climbs import LATELY_S, Climbs
from plimsoll_predictor.core.task import TaskId

BURST = TaskId("shop", "burst")
STARTED_S = 1000.0
AFTER = 45


def climbing(*heard: tuple[float, float], now_s: float) -> bool:
    """Return whether it climbs. heard: seconds after the start, and the running maximum."""
    climbs = Climbs()
    climbs.follow("r1", BURST, STARTED_S, AFTER)
    told = False
    for at_s, need_bytes in heard:
        told = turned(climbs, STARTED_S + at_s, told=told)
        climbs.reached("r1", need_bytes, STARTED_S + at_s)
    return turned(climbs, STARTED_S + now_s, told=told)


def turned(climbs: Climbs, now_s: float, *, told: bool) -> bool:
    for task, attempt, still in climbs.turned(now_s):
        assert (task, attempt, told) == (BURST, "r1", not still), "only what has turned is told"
        told = still
    return told


@pytest.mark.parametrize(
    ("heard", "now_s", "expected"),
    [
        pytest.param((), 60, False, id="no agent has said anything"),
        pytest.param(((1, 2),), 600, True, id="it has not reached what killed its run"),
        pytest.param(((60, 80),), 61, False, id="heard for the first time"),
        pytest.param(((1, 2), (8, 60)), 9, True, id="it went up"),
        pytest.param(((1, 2), (8, 60)), 8 + LATELY_S + 1, False, id="it stays"),
        pytest.param(((60, 80), (61, 83)), 62, False, id="it went up by less than a step"),
        pytest.param(((60, 80), (61, 83), (62, 85)), 63, True, id="little steps add up"),
        pytest.param(((60, 80), (61, 90), (62, 70)), 63, True, id="a maximum never falls"),
        pytest.param(((600, 80), (4000, 90)), 4900, True, id="a run of hours climbs slowly"),
        pytest.param(((600, 80), (4000, 90)), 5100, False, id="and stays for long"),
        pytest.param(((1, 2), (8, 0)), 9, True, id="a report of nothing is no news"),
    ],
)
def test_a_retry_climbs_while_it_took_more_lately(
    heard: tuple[tuple[float, float], ...], now_s: float, expected: bool
) -> None:
    assert climbing(*heard, now_s=now_s) is expected


def test_one_that_has_ended_is_followed_no_more() -> None:
    climbs = Climbs()
    climbs.follow("r1", BURST, STARTED_S, AFTER)
    climbs.reached("r1", 2, STARTED_S + 1)
    climbs.ended("r1")
    climbs.ended("r1")
    climbs.reached("r1", 60, STARTED_S + 2)
    assert (len(climbs), list(climbs.turned(STARTED_S + 3))) == (0, [])


def test_one_that_is_followed_twice_keeps_what_it_showed() -> None:
    climbs = Climbs()
    for _ in range(2):
        climbs.follow("r1", BURST, STARTED_S, AFTER)
        climbs.reached("r1", 2, STARTED_S + 1)
    assert list(climbs.turned(STARTED_S + 2)) == [(BURST, "r1", True)]
