"""When the controller has a task trained, and when it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from plimsoll_operator.controller import building, restoring
from plimsoll_operator.controller.hub.hub import ObservationAmended, TrainingDue
from plimsoll_operator.controller.trainings import FAILURES_TRIED_AGAIN, Trainings
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.training.queue import Trained, TrainingQueue
from plimsoll_predictor.core.record import Need, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.store import Begun, SavedModel, Store, TaskSummary
from plimsoll_predictor.store.writer import Novelty
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside
from tests.builders.training.models import MODEL_BYTES, a_model

FAILED = Trained(task=TRAIN, why="a test", failure="it broke", duration_s=1.0)
DONE = Trained(task=TRAIN, why="a test", failure=None, duration_s=1.0)
NEW = Novelty(new=True, learned=True)


@asynccontextmanager
async def training(folder: Path) -> AsyncIterator[tuple[Inside, Trainings, TrainingQueue]]:
    async with an_inside(folder) as inside:
        yield inside, inside.controller.trainings, inside.controller.queue


def observe(inside: Inside, observation: Observation, novelty: Novelty = NEW) -> None:
    inside.controller.hub.publish(ObservationAmended(observation, novelty))


def wanted(queue: TrainingQueue) -> bool:
    return TRAIN in (*queue.waiting, *queue.running)


def a_run(number: int, outcome: Outcome = Outcome.SUCCEEDED) -> Observation:
    return Observation(
        attempt_uid=f"u{number}",
        task=TRAIN,
        run=f"r{number}",
        outcome=outcome,
        allocation_bytes=128 * MIB,
        peak_bytes=90 * MIB,
        peak_source=PeakSource.AGENT,
        finished_s=1000.0 + number,
    )


def began_with(runs: int) -> Begun:
    return Begun(TaskSummary(task=TRAIN, observations=runs, runs_known=runs))


def a_saved(runs: int, oom_kills: int = 0) -> SavedModel:
    return SavedModel(None, {}, 0.0, runs, oom_kills)


@pytest.mark.slow
async def test_after_a_restart_only_what_came_since_the_training_is_new(tmp_path: Path) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        inside.controller.book.add_up(TRAIN, 40, 90 * MIB)
        # Sixty attempts were forty runs: the number of known runs counts.
        trainings.restore(TaskSummary(task=TRAIN, observations=60, runs_known=40), a_saved(40))
        trainings.consider(TRAIN)
        assert not wanted(queue)
        for number in range(5):
            observe(inside, a_run(number))
        assert wanted(queue)


@pytest.mark.slow
async def test_a_kill_that_the_last_training_did_not_know_is_trained_on_after_a_restart(
    tmp_path: Path,
) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        inside.controller.book.add_up(TRAIN, 40, 90 * MIB)
        trainings.restore(TaskSummary(task=TRAIN, runs_known=40, oom_kills=3), a_saved(40, 2))
        trainings.consider(TRAIN)
        assert wanted(queue)


async def test_a_training_that_waits_takes_the_policy_that_people_have_written_since(
    tmp_path: Path,
) -> None:
    async with training(tmp_path) as (inside, _, queue):
        before = queue.policy_of(TRAIN)
        inside.controller.book.policies.set_namespace_spec("shop", {"minRuns": 9})
        now = queue.policy_of(TRAIN)
        assert before is not None
        assert now is not None
        assert before.min_runs != now.min_runs == 9
        assert queue.policy_of(TaskId("shop", "never-met")) is None


@pytest.mark.slow
async def test_a_training_that_always_fails_is_not_tried_for_ever(tmp_path: Path) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        inside.controller.book.add_up(TRAIN, 40, 90 * MIB)
        for _ in range(FAILURES_TRIED_AGAIN):
            await trainings.training_ended(FAILED)
            assert queue._wanted.pop(TRAIN, None) or queue.running
        await trainings.training_ended(FAILED)
        observe(inside, a_run(1))
        assert TRAIN not in queue.waiting


@pytest.mark.slow
async def test_a_task_at_the_bound_of_what_is_stored_is_not_trained_without_end(
    tmp_path: Path,
) -> None:
    async with training(tmp_path) as (inside, trainings, _):
        due: list[TrainingDue] = []
        inside.controller.hub.subscribe(TrainingDue, due.append)
        inside.controller.book.add_up(TRAIN, 22_500, 90 * MIB)
        trainings.consider(TRAIN)
        assert len(due) == 1
        # The book counts all runs; the store has forgotten the oldest.
        inside.store.models.save(TRAIN, None, {}, began=began_with(20_050))
        await trainings.training_ended(DONE)
        observe(inside, a_run(1))
        assert len(due) == 1
        inside.controller.book.add_up(TRAIN, 22_500 + 2_250, 90 * MIB)
        trainings.consider(TRAIN)
        assert len(due) == 2, "a tenth more is news"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["after a training", "during a training"])
async def test_an_import_at_the_bound_of_what_is_stored_does_not_put_the_next_training_off(
    tmp_path: Path, when: str
) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        await queue.close()  # only the test ends a training
        due: list[TrainingDue] = []
        inside.controller.hub.subscribe(TrainingDue, due.append)
        inside.store.observations.record([a_run(number) for number in range(40)])
        # The book counts all runs; the store has forgotten the oldest.
        inside.controller.book.add_up(TRAIN, 48, 90 * MIB)
        trainings.consider(TRAIN)
        inside.store.models.save(TRAIN, None, {}, began=began_with(40))
        if when == "after a training":
            await trainings.training_ended(DONE)
        inside.store.observations.record_history([a_run(40)])
        await inside.controller.store_sync.look_for_imports()
        if when == "during a training":
            await trainings.training_ended(DONE)
        assert (inside.known.runs, len(due)) == (41, 1)
        for number in range(41, 46):
            observe(inside, a_run(number))
        assert len(due) == 2, "five runs more are news"


async def test_a_run_that_ends_during_a_training_asks_for_no_other_but_a_kill_does(
    tmp_path: Path,
) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        await queue.close()  # only the test ends a training
        due: list[TrainingDue] = []
        inside.controller.hub.subscribe(TrainingDue, due.append)
        inside.controller.book.add_up(TRAIN, 40, 90 * MIB)
        trainings.consider(TRAIN)
        observe(inside, a_run(1))
        assert len(due) == 1
        observe(inside, a_run(2, Outcome.OOM_KILLED), Novelty(new=True, learned=False))
        assert (len(due), due[-1].killed) == (2, True)
        for number in range(3, 8):
            observe(inside, a_run(number))
        assert len(due) == 3, "a tenth more is news during a training, too"


@pytest.mark.slow
async def test_runs_since_the_training_are_new_after_a_restart_though_as_many_were_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with training(tmp_path) as (inside, _, _):
        inside.store.observations.record([a_run(number) for number in range(40)])
        trained_s = 1000.0 + 34.5
        early = Store.open(inside.store.where, clock=lambda: trained_s)
        early.models.save(TRAIN, None, {}, began=began_with(40))
        early.close()
    async with training(tmp_path) as (_, _, queue):
        assert not wanted(queue), "the store has not reached its bound, so its counts tell all"
    monkeypatch.setattr(restoring, "KEPT_PER_TASK", 40)
    async with training(tmp_path) as (_, _, queue):
        assert wanted(queue), "five runs ended since"


@pytest.mark.slow
async def test_a_start_holds_only_the_models_that_have_room_in_the_feed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand models need more memory than the controller has."""
    tasks = [TaskId("shop", f"t{number}") for number in reversed(range(9))]
    async with training(tmp_path) as (inside, _, _):
        for task in tasks:
            inside.store.observations.record([replace(a_run(1), task=task, attempt_uid=str(task))])
            inside.store.models.save(task, a_model(), {}, began=Begun(TaskSummary(task=task)))
    small = partial(FeedBoard, max_models_bytes=3 * MODEL_BYTES)
    monkeypatch.setattr(building, "FeedBoard", lambda epoch, **_: small(epoch))
    async with training(tmp_path) as (inside, trainings, queue):
        await queue.close()  # only the test ends a training
        assert having_models(inside) == set(tasks[-3:]), "trained last"
        assert inside.controller.board.untold["models"] == len(tasks) - 3
        assert set(trainings.models_trained_s) == set(tasks), "the store keeps them"
        bids = inside.controller.standings.bids
        assert CLASSIFIER in await bids(tasks[-1], None, {})
        assert CLASSIFIER not in await bids(tasks[0], None, {})
        # Once it is trained again, its model is the newest.
        await trainings.training_ended(replace(DONE, task=tasks[0]))
        assert having_models(inside) == {tasks[0], *tasks[-2:]}


def having_models(inside: Inside) -> set[TaskId]:
    book = inside.controller.book
    return {task for task in book if book.look(task).model is not None}


@pytest.mark.slow
@pytest.mark.parametrize("result", [FAILED, DONE])
async def test_a_training_does_not_bring_back_a_task_that_was_forgotten_meanwhile(
    tmp_path: Path, result: Trained
) -> None:
    async with training(tmp_path) as (inside, trainings, queue):
        inside.store.models.save(TRAIN, None, {})
        inside.controller.book.forget(TRAIN)
        await trainings.training_ended(result)
        assert TRAIN not in inside.controller.book
        assert not wanted(queue)


@pytest.mark.slow
async def test_an_amended_observation_is_no_news(tmp_path: Path) -> None:
    async with training(tmp_path) as (inside, _, queue):
        inside.controller.book.add_up(TRAIN, 4, 90 * MIB)
        inside.controller.hub.publish(
            ObservationAmended(a_run(1), Novelty(new=False, learned=False))
        )
        assert inside.known.runs == 4
        assert not wanted(queue)


async def test_a_kill_counts_as_what_the_need_exceeds(tmp_path: Path) -> None:
    async with training(tmp_path) as (inside, _, _):
        killed = a_run(1, Outcome.OOM_KILLED)
        observe(inside, killed, Novelty(new=True, learned=False))
        assert killed.need == Need(128 * MIB, censored=True)
        assert (inside.known.runs, inside.known.max_need_bytes) == (0, 128 * MIB)


@pytest.mark.slow
async def test_a_task_nothing_keeps_is_idle_after_a_round_without_its_pods(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        met_tasks = inside.controller.met_tasks
        met_tasks.meet(a_train().built(), TRAIN)
        assert list(met_tasks.idle([])) == []
        assert list(met_tasks.idle([TRAIN])) == []
        assert list(met_tasks.idle([])) == [TRAIN]
