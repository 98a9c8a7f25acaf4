"""Which tasks are beyond lifting, in any order of their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.hub.hub import (
    Hub,
    ObservationAmended,
    ProfileOutdated,
    TaskForgotten,
)
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.profile.conditions import Leak, leak_of
from plimsoll_operator.profile.status import status_of
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.lifting import LIFTING_OFF
from plimsoll_predictor.store import Novelty
from tests.builders.controller.ledgers import NOW_S, a_train, an_inside, decided, ended
from tests.builders.controller.ledgers import killed as killed_pod
from tests.operator.profile.sized_task import facts

TRAIN = TaskId("shop", "train")
WHY = "three lifts were not enough"


def an_end(at_s: float, outcome: Outcome) -> Observation:
    uid = f"u{at_s}"
    return Observation(attempt_uid=uid, task=TRAIN, run=uid, outcome=outcome, finished_s=at_s)


def killed(at_s: float) -> Observation:
    return an_end(at_s, Outcome.OOM_KILLED)


def succeeded(at_s: float) -> ObservationAmended:
    return ObservationAmended(an_end(at_s, Outcome.SUCCEEDED), Novelty(new=True, learned=False))


@pytest.mark.parametrize(
    ("success_s", "leaks"),
    [
        pytest.param(30.0, False, id="a later success ends it"),
        pytest.param(10.0, True, id="an earlier success does not"),
    ],
)
def test_only_a_success_since_ends_a_leak_whichever_is_seen_first(
    success_s: float, leaks: bool
) -> None:
    leak_first, success_first = LeakingTasks(Hub()), LeakingTasks(Hub())
    leak_first.leaked(killed(20.0), WHY)
    leak_first.observed(succeeded(success_s))
    success_first.observed(succeeded(success_s))
    success_first.leaked(killed(20.0), WHY)
    for leaking in (leak_first, success_first):
        assert leaking.why(TRAIN) == (WHY if leaks else None)
        assert len(leaking) == leaks


def test_a_change_is_published_once_and_no_other_end_is_one() -> None:
    hub, heard = Hub(), list[ProfileOutdated]()
    hub.subscribe(ProfileOutdated, heard.append)
    leaking = LeakingTasks(hub)
    for _ in range(2):
        leaking.leaked(killed(20.0), WHY)
    leaking.observed(ObservationAmended(killed(30.0), Novelty(new=True, learned=False)))
    assert heard == [ProfileOutdated(TRAIN)]
    assert leaking.why(TRAIN) == WHY


@pytest.mark.parametrize("why", [WHY, LIFTING_OFF])
def test_a_status_tells_of_a_leak_as_this_version_and_older_ones_write_it(why: str) -> None:
    status = status_of(facts(leaking=why), now_s=NOW_S)
    assert leak_of(status) == Leak(why, NOW_S)
    [shown] = [each for each in status["conditions"] if each["type"] == "Leaking"]
    older = {**shown, "message": f"{why}; it is left alone: look for a leak, or raise max"}
    assert leak_of({"conditions": [older]}) == Leak(why, NOW_S)


LEAKED = status_of(facts(leaking=WHY), now_s=NOW_S)
"""A profile's status: its Leaking is True since then."""


async def test_the_next_controller_goes_on_with_a_leak_though_the_killed_pod_is_gone(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed_pod(decided(a_train()).owned_by_job()))
    async with an_inside(tmp_path, shown=LEAKED) as inside:
        assert inside.controller.leaking.why(TRAIN) == WHY
        await inside.see(ended(decided(a_train("train-2")), at="2026-01-01T00:02:00Z"))
        assert inside.controller.leaking.why(TRAIN) is None


async def test_a_leak_that_a_success_has_ended_since_is_not_gone_on_with(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(decided(a_train()), at="2026-01-01T00:02:00Z"))
    async with an_inside(tmp_path, shown=LEAKED) as inside:
        assert inside.controller.leaking.why(TRAIN) is None


@pytest.mark.parametrize(
    "shown",
    [
        {},
        status_of(facts(), now_s=NOW_S),
        {"conditions": [{"type": "Leaking", "status": "True", "message": WHY}]},
        {"conditions": [{"type": "Leaking", "status": "True", "lastTransitionTime": "x"}]},
    ],
)
async def test_a_status_that_tells_of_no_leak_is_none(
    tmp_path: Path, shown: dict[str, Any]
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed_pod(decided(a_train()).owned_by_job()))
    async with an_inside(tmp_path, shown=shown) as inside:
        assert inside.controller.leaking.why(TRAIN) is None


def test_a_forgotten_task_does_not_leak() -> None:
    leaking = LeakingTasks(Hub())
    leaking.leaked(killed(20.0), WHY)
    leaking.task_forgotten(TaskForgotten(TRAIN))
    assert len(leaking) == 0
