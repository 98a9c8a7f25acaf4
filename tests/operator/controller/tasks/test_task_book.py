"""What the controller knows about tasks, and when it tells the feed."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest

from plimsoll_operator.controller.attempts.living import Placed, Placement
from plimsoll_operator.controller.hub.hub import ProfileOutdated
from plimsoll_operator.controller.tasks import book as book_module
from plimsoll_operator.controller.tasks.book import LIFTS_KEPT
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.publishing import SizingState
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Need
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.store import StoreError
from tests.builders.controller.books import books
from tests.builders.training.models import MODEL_BYTES, a_model

TRAIN = TaskId("shop", "train")
LIFT = Lift(200 * MIB, 2, 100 * MIB)


def test_looking_at_a_task_makes_it_not_known() -> None:
    book = books().book
    assert book.look(TRAIN).policy == Policy()
    assert TRAIN not in book


async def test_what_many_attempts_teach_is_told_once() -> None:
    made = books()
    published = made.published
    made.book.get(TRAIN)
    for size in range(1, 6):
        made.ended(TRAIN, Need(size * MIB, censored=False))
    assert [each.runs for each in published] == [0]
    await made.publications.publish()
    await made.publications.publish()
    assert [each.runs for each in published] == [0, 5]


async def test_a_run_decides_once_the_experts_know_it() -> None:
    async def fold() -> None:
        for need in while_folding:
            made.ended(TRAIN, need)
        while_folding.clear()

    while_folding: list[Need] = []
    made = books(fold=fold)
    published = made.published
    made.ended(TRAIN, Need(MIB, censored=False))
    made.ended(TRAIN, Need(3 * MIB, censored=True), new_run=False)
    assert made.book.look(TRAIN).runs == 1, "trainings and profiles count at once"
    made.book.lift(TRAIN, "r", LIFT)
    assert (published[-1].runs, published[-1].max_need_bytes) == (0, 3 * MIB)
    while_folding.append(Need(2 * MIB, censored=False))
    await made.publications.publish()
    assert published[-1].runs == 1, "what ended since the experts were asked is not known"
    await made.publications.publish()
    assert [each.runs for each in published[-2:]] == [1, 2]


async def test_a_run_does_not_decide_while_the_experts_cannot_learn() -> None:
    async def fold() -> None:
        raise StoreError("the database is away")

    made = books(fold=fold)
    made.ended(TRAIN, Need(MIB, censored=False))
    await made.publications.publish()
    assert (made.published[-1].runs, made.published[-1].max_need_bytes) == (0, MIB)


async def test_others_run_while_many_tasks_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a start, all tasks with their models are; the lead is renewed on the same loop."""
    monkeypatch.setattr(FeedBoard, "publish", takes_2_ms)
    made = books()
    tasks = [TaskId("shop", f"train-{number}") for number in range(300)]
    for task in tasks:
        made.book.restore(Knowledge(task=task, policy=Policy()))
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1
            if turns == 3:  # none of the three is published yet
                made.book.lift(tasks[-1], "r", LIFT)
                made.book.forget(tasks[-2])
                made.ended(tasks[-3], Need(MIB, censored=False))

    other = asyncio.create_task(take_turns())
    await made.publications.publish()
    other.cancel()
    with suppress(asyncio.CancelledError):
        await other
    assert turns >= 10
    told = [each.task for each in made.published]
    assert set(told) == {*tasks} - {tasks[-2]}
    assert len(told) == len(set(told))
    assert tasks[-1] in told[: len(told) // 2], "a lift is told at once, and only then"


def takes_2_ms(_board: FeedBoard, _knowledge: Knowledge) -> list[TaskId]:
    time.sleep(0.002)
    return []


def test_a_model_without_room_in_the_feed_is_not_held_and_the_profile_says_so() -> None:
    made = books(board=FeedBoard("test", max_models_bytes=3 * MODEL_BYTES))
    outdated = list[TaskId | None]()
    made.hub.subscribe(ProfileOutdated, lambda event: outdated.append(event.task))
    tasks = [TaskId("shop", f"train-{number}") for number in range(10)]
    for task in tasks:
        made.book.serve(task, a_model())
    assert [task for task in tasks if made.book.look(task).model] == tasks[-3:]
    assert outdated == tasks[:-3]
    last = {known.task: known for known in made.published}
    assert [task for task in tasks if last[task].model] == tasks[-3:]
    # More is learned of it: the model does not come back.
    made.book.add_up(tasks[0], 7, 2 * MIB)
    assert made.book.look(tasks[0]).model is None


def test_a_lift_is_told_at_once_with_all_that_was_learned() -> None:
    made = books()
    published = made.published
    made.ended(TRAIN, Need(MIB, censored=True), new_run=False)
    made.book.lift(TRAIN, "r", LIFT)
    assert (published[-1].max_need_bytes, published[-1].lifts) == (MIB, {"r": LIFT})


@pytest.mark.slow
def test_a_task_keeps_its_newest_lifts() -> None:
    book = books().book
    for number in range(LIFTS_KEPT):
        book.lift(TRAIN, f"r{number}", LIFT)
    book.lift(TRAIN, "r0", Lift(400 * MIB, 3, 200 * MIB))
    book.lift(TRAIN, "new", LIFT)
    lifts = book.get(TRAIN).lifts
    assert len(lifts) == LIFTS_KEPT
    assert "r1" not in lifts
    assert {"r0", "r2", "new"} <= set(lifts)


def test_lifts_that_the_store_forgot_are_forgotten() -> None:
    book = books().book
    book.lift(TRAIN, "old", LIFT)
    book.lift(TRAIN, "young", LIFT)
    book.drop_lifts_except({TRAIN: {"young": LIFT}})
    assert set(book.get(TRAIN).lifts) == {"young"}
    book.drop_lifts_except({})
    assert book.get(TRAIN).lifts == {}


def test_a_policy_that_did_not_change_is_not_told_again() -> None:
    made = books()
    book, published = made.book, made.published
    book.get(TRAIN)
    for _ in range(3):
        made.policies.set_namespace_spec("shop", {"mode": "enforce"})
    assert [each.policy.mode for each in published] == [Mode.RECOMMEND, Mode.ENFORCE]


async def test_a_forgotten_task_starts_anew() -> None:
    made = books()
    book = made.book
    made.ended(TRAIN, Need(MIB, censored=False))
    book.forget(TRAIN)
    assert TRAIN not in book
    await made.publications.publish()
    assert book.get(TRAIN).runs == 0


def test_a_namespace_has_no_first_sizes_before_it_takes_no_more_tasks() -> None:
    """A pod of a task that is turned away would have nobody who lifts its run."""
    made, board = books(Policy(mode=Mode.ENFORCE, first_size=0.75)), FeedBoard("test")
    made.book.crowding.most_tasks = 4
    bounds = ClusterBounds(board, made.policies, ClusterNodes())
    sizing = SizingState(made.publications, made.policies, bounds, ItemNeeds(board))

    def first_size_of(task: TaskId) -> float:
        return sizing.of_task(task).knowledge_of(task).policy.first_size

    tasks = [TaskId("shop", f"t{number}") for number in range(3)]
    for task in tasks:
        assert not made.publications.crowded
        made.book.get(task)
    assert made.publications.crowded == {"shop"}
    assert not made.book.crowding.is_full("shop")
    assert [first_size_of(task) for task in (*tasks, TRAIN)] == [0.75, 0.75, 0.75, 1]
    assert first_size_of(TaskId("mall", "train")) == 0.75
    made.book.forget(tasks[0])
    assert not made.publications.crowded


def test_pods_whose_end_was_missed_do_not_stay_for_ever() -> None:
    placement = Placement(pods_kept=3)
    for number in range(10):
        placement.start(f"u{number}", f"node-{number % 2}", Placed(TRAIN, MIB, 0.5))
    assert len(placement) == 3
    assert placement.end("u0") is None
    surroundings = placement.end("u9")
    assert surroundings is not None
    assert surroundings.memory_bytes == 2 * MIB


async def test_a_flood_of_kills_takes_no_lift_from_another_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(book_module, "LIFTS_IN_ALL", 20)
    book = books().book
    for number in range(5):
        book.lift(TRAIN, f"calm-{number}", LIFT)
    gone = [
        forgotten
        for number in range(100)
        for forgotten in book.lift(TaskId("evil", f"t{number % 7}"), f"run-{number}", LIFT)
    ]
    assert len(book.look(TRAIN).lifts) == 5
    assert sum(len(book.look(task).lifts) for task in book) == 20
    assert [run for _, run, _ in gone] == [f"run-{number}" for number in range(85)]
    book.forget(TaskId("evil", "t0"))
    assert book.lift(TRAIN, "calm-5", LIFT) == []
