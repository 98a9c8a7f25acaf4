"""The size that the next run hardly ever exceeds: few runs, scatter, growth."""

from __future__ import annotations

import math
import random

import pytest

from plimsoll_predictor.experts.usual import LATEST, MOST_LOG_ROOM, hardly_exceeded_bytes

MB = 1e6


def test_two_runs_alike_leave_room_for_a_third() -> None:
    bound = hardly_exceeded_bytes([200 * MB, 200 * MB])
    assert 1.05 < bound / (200 * MB) < 1.3


def test_the_room_shrinks_as_runs_become_known() -> None:
    rooms = [hardly_exceeded_bytes([200 * MB] * runs) for runs in (2, 3, 5, 10, 100)]
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[-1] < 203 * MB


def test_what_grows_is_followed_where_it_goes() -> None:
    grown = [100 * MB * 1.05**run for run in range(13)]
    assert grown[-1] < hardly_exceeded_bytes(grown[:-1]) < 1.03 * grown[-1]
    scattered = random.Random(1).sample(grown[:-1], 12)
    assert hardly_exceeded_bytes(scattered) > 1.1 * grown[-1], "in another order it is no trend"


def test_what_shrinks_is_not_followed_down() -> None:
    shrunk = [100 * MB * 0.9**run for run in range(12)]
    assert hardly_exceeded_bytes(shrunk) > 100 * MB


def test_growth_of_late_is_followed_after_a_long_steady_past() -> None:
    grown = [100 * MB] * 200 + [100 * MB * 1.05**run for run in range(LATEST + 1)]
    assert grown[-1] < hardly_exceeded_bytes(grown[:-1]) < 1.03 * grown[-1]


def test_few_wild_runs_do_not_ask_for_everything() -> None:
    wild = [10 * MB, 4_000 * MB]
    usual_bytes = math.sqrt(wild[0] * wild[1])
    assert hardly_exceeded_bytes(wild) <= usual_bytes * math.exp(MOST_LOG_ROOM) * 1.0001


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_few_later_runs_exceed_it(spread: float) -> None:
    exceeded = runs = 0
    for seed in range(60):
        draws = random.Random(seed)
        needs = [200 * MB * math.exp(draws.gauss(0, spread)) for _ in range(30)]
        for known in range(3, 30):
            runs += 1
            exceeded += needs[known] > hardly_exceeded_bytes(needs[:known])
    assert exceeded / runs < 0.05
