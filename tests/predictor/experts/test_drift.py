"""A task that changes is noticed, and one that does not is left alone."""

from __future__ import annotations

import json
import random

import pytest

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.drift import (
    APART,
    BEFORE,
    LATEST,
    LATEST_AFTER_A_CHANGE,
    RESTLESS,
    Drift,
)
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.expert_names import NEAR_MAX

LOW, HIGH = 2.0e9, 6.0e9


def needs(level_bytes: float, runs: int, spread: float = 0.1) -> list[float]:
    dice = random.Random(7)
    return [level_bytes * (1 + spread * dice.random()) for _ in range(runs)]


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param(HIGH, LOW, id="down"), pytest.param(LOW, HIGH, id="up")],
)
def test_a_level_that_moves_is_noticed_when_enough_runs_lie_apart(
    before: float, after: float
) -> None:
    past = needs(before, 30)
    drift = Drift()
    seen = [drift.shifted([*past, *needs(after, runs)]) for runs in range(1, LATEST + 1)]
    assert seen == [None] * (LATEST - 1) + [LATEST]
    assert (drift.drifting, drift.shifts) == (True, 1)


def test_both_levels_are_remembered() -> None:
    drift, past, latest = Drift(), needs(HIGH, 30), needs(LOW, LATEST)
    drift.shifted([*past, *latest])
    assert drift.latest_bytes == [min(latest), max(latest)]
    assert drift.before_bytes == [min(past[-BEFORE:]), max(past[-BEFORE:])]


def test_after_a_new_image_fewer_runs_are_believed() -> None:
    drift = Drift()
    drift.see_version("one")
    drift.see_version("two")
    for _ in range(LATEST_AFTER_A_CHANGE - 1):
        drift.see_version("two")
    kept = drift.shifted([*needs(HIGH, 30), *needs(LOW, LATEST_AFTER_A_CHANGE)])
    assert kept == LATEST_AFTER_A_CHANGE


@pytest.mark.parametrize(
    "latest",
    [
        pytest.param(needs(HIGH, LATEST), id="the same level"),
        pytest.param(needs(HIGH / APART, LATEST), id="a level too near"),
        pytest.param([*needs(LOW, LATEST - 1), HIGH], id="one run of the old level among them"),
        pytest.param(needs(LOW, LATEST - 1), id="too few runs of the new one"),
    ],
)
def test_what_is_no_shift_is_not_noticed(latest: list[float]) -> None:
    drift = Drift()
    assert drift.shifted([*needs(HIGH, 30), *latest]) is None
    assert drift == Drift()


def test_a_level_that_returns_twice_is_no_change_any_more() -> None:
    drift = Drift()
    day, night = needs(HIGH, BEFORE), needs(LOW, LATEST)
    turns = [[*day, *night], [*needs(LOW, BEFORE), *needs(HIGH, LATEST)]] * 5
    assert [drift.shifted(turn) for turn in turns] == [LATEST] * 2 + [None] * 8
    assert drift.shifts == 2


@pytest.mark.parametrize("sign", ["a third level", "a new image"])
def test_after_something_new_a_return_is_a_change_again(sign: str) -> None:
    drift = Drift()
    drift.see_version("one")
    drift.shifted([*needs(HIGH, BEFORE), *needs(LOW, LATEST)])
    drift.shifted([*needs(LOW, BEFORE), *needs(HIGH, LATEST)])
    if sign == "a new image":
        drift.see_version("two")
    else:
        drift.shifted([*needs(HIGH, BEFORE), *needs(4 * HIGH, LATEST)])
        drift.shifted([*needs(4 * HIGH, BEFORE), *needs(HIGH, LATEST)])
    assert drift.shifted([*needs(HIGH, BEFORE), *needs(LOW, LATEST)]) == LATEST


def test_without_a_past_there_is_nothing_to_shift_from() -> None:
    assert Drift().shifted([*needs(HIGH, LATEST - 1), *needs(LOW, LATEST)]) is None


def test_runs_that_come_in_any_order_are_hardly_ever_taken_for_a_shift() -> None:
    dice = random.Random(11)
    drift, past = Drift(), list[float]()
    for _ in range(5_000):
        past.append(dice.lognormvariate(21, 0.6))
        if drift.shifted(past[-400:]) is not None:
            past.clear()
    assert drift.shifts == 0


def test_it_is_the_same_after_it_was_saved() -> None:
    drift = Drift()
    drift.see_version("one")
    drift.shifted([*needs(HIGH, 30), *needs(LOW, LATEST)])
    drift.shifted([*needs(LOW, 30), *needs(HIGH, LATEST)])
    assert drift.returned
    again = from_document(Drift, to_document(drift), "a drift")
    assert again == drift
    assert Drift(version="", since_change=None, drifting=False, shifts=3).shifts == 3


def see_versions(drift: Drift, *versions: str) -> Drift:
    for version in versions:
        drift.see_version(version)
    return drift


def test_an_image_made_for_every_run_is_no_sign_of_change_after_a_few() -> None:
    drift = see_versions(Drift(), *(f"train:{number}" for number in range(RESTLESS)))
    assert drift.drifting
    see_versions(drift, *(f"train:{number}" for number in range(RESTLESS, 40)))
    assert (drift.restless, drift.drifting, drift.since_change) == (True, False, None)


def test_an_image_that_stays_a_while_is_believed_when_it_goes() -> None:
    drift = see_versions(Drift(), *(["a"] * 10), *(["b"] * 10), *(["c"] * 10), "d")
    assert (drift.restless, drift.drifting) == (False, True)


def test_once_images_stay_again_a_new_one_is_believed_again() -> None:
    drift = see_versions(Drift(), *(f"train:{number}" for number in range(20)))
    see_versions(drift, *(["stable"] * BEFORE))
    assert not drift.restless
    assert see_versions(drift, "new").drifting


def test_a_shift_of_level_shows_though_images_change_with_every_run() -> None:
    drift = see_versions(Drift(), *(f"train:{number}" for number in range(20)))
    assert drift.shifted([*needs(HIGH, 30), *needs(LOW, LATEST)]) == LATEST
    assert drift.drifting
    assert see_versions(drift, "train:20", "train:21").drifting


def ran(standing: Standing, version: str, level_bytes: float, runs: int = 1) -> None:
    """Runs of a version end, one after another."""
    for _ in range(runs):
        run = EndedRun(level_bytes, 600.0)
        ended = Ended(run=run, features={}, bids=None, version=version, overhead_s=None)
        standing.learn(ended, Pool(EXPERTS, ANCHORS))


def after_a_shift(*kills: tuple[int, float]) -> Standing:
    """Four runs of a new version changed the level. kills: after how many of them, and the size."""
    standing = Standing()
    ran(standing, "a", LOW, BEFORE)
    for done in range(LATEST_AFTER_A_CHANGE):
        for after_runs, size_bytes in kills:
            if after_runs == done:
                standing.exceeded(Exceeded(run="killed", allocation_bytes=size_bytes))
        ran(standing, "b", HIGH)
    assert (standing.drift.shifts, standing.past.runs) == (1, LATEST_AFTER_A_CHANGE)
    return standing


def test_a_kill_among_the_runs_that_a_shift_keeps_still_counts() -> None:
    standing = after_a_shift((2, 1.2 * HIGH), (3, 1.5 * HIGH), (3, 1.1 * HIGH))
    assert standing.bids(None, {})[NEAR_MAX] == pytest.approx(1.01 * 1.5 * HIGH)


def test_a_kill_before_the_runs_that_a_shift_keeps_counts_no_longer() -> None:
    standing = after_a_shift((0, 1.5 * HIGH), (2, 0.9 * HIGH))
    assert standing.bids(None, {})[NEAR_MAX] == pytest.approx(1.01 * HIGH)


def test_a_kill_is_as_recent_after_it_was_saved_and_an_older_state_has_none() -> None:
    standing = Standing()
    ran(standing, "a", LOW, BEFORE)
    ran(standing, "b", HIGH, LATEST_AFTER_A_CHANGE - 1)
    standing.exceeded(Exceeded(run="killed", allocation_bytes=1.5 * HIGH))
    written = json.loads(json.dumps(standing.to_dict()))
    older = json.loads(json.dumps(written))
    del older["past"]["latest_kills"]
    for document, largest_bytes in ((written, 1.5 * HIGH), (older, HIGH)):
        again = Standing.from_dict(document)
        assert again.past.exceeded_bytes == 1.5 * HIGH
        ran(again, "b", HIGH)
        assert again.past.reached_bytes == largest_bytes


def test_a_second_shift_counts_kills_by_the_runs_that_are_left() -> None:
    standing = after_a_shift((3, 1.5 * HIGH))
    ran(standing, "b", HIGH, BEFORE)
    ran(standing, "c", LOW, LATEST_AFTER_A_CHANGE - 1)
    standing.exceeded(Exceeded(run="later", allocation_bytes=1.2 * LOW))
    ran(standing, "c", LOW)
    assert standing.drift.shifts == 2
    assert standing.past.reached_bytes == 1.2 * LOW
