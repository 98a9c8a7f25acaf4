"""Kills of executors are in the feed as soon as they are observed, and again after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import AttemptEnded, Hub, TaskForgotten
from plimsoll_operator.controller.splitting import smaller_partitions
from plimsoll_operator.controller.splitting.smaller_partitions import SmallerPartitions
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.wording.event_words import Happening
from plimsoll_predictor.core.policy import Mode, Policy, SparkPolicy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.splitting.spark.steps import FEATURE, NOTHING
from plimsoll_predictor.store import Novelty, Store, Writer
from tests.builders.stores import an_attempt, open_store

EXECUTORS = TaskId("shop", "spark.sales.executor")
DRIVERS = TaskId("shop", "spark.sales.driver")


@dataclass(frozen=True, slots=True)
class Partitions:
    """A controller's part, its store and its feed."""

    smaller: SmallerPartitions
    store: Store
    board: FeedBoard
    announced: list[str]

    def ended(self, observed: Observation, role: str | None = "executor") -> None:
        pod: Any = {"metadata": {"labels": {} if role is None else {"spark-role": role}}}
        nothing: Any = None
        novel = Novelty(new=True, learned=True)
        self.store.observations.record([observed])
        self.smaller.attempt_ended(AttemptEnded(observed, novel, pod, nothing, nothing))

    @property
    def told(self) -> dict[str, Any]:
        return decode_message(self.board.message(0, None)).smaller


def killed(uid: str, step: int | None = None, task: TaskId = EXECUTORS) -> Observation:
    features = {} if step is None else {FEATURE: float(step)}
    made = an_attempt(uid).of(task).ending(Outcome.OOM_KILLED).knowing(**features).built
    return replace(made, written_limit_bytes=GIB, allocation_bytes=GIB)


@dataclass(frozen=True, slots=True)
class Heard:
    """Keeps the words of what is announced."""

    notes: list[str]

    def announce(self, happening: Happening, _: Any) -> None:
        self.notes.append(happening.note)


def policies(drivers: Mode = Mode.ENFORCE) -> TaskPolicies:
    """The executors' own policy enforces nothing, and does not count."""
    made = TaskPolicies(Policy(spark=SparkPolicy(mode=Mode.OFF)), Hub())
    made.set_profile_spec(DRIVERS.namespace, DRIVERS.name, {"spark": {"mode": drivers.value}})
    return made


@asynccontextmanager
async def learning(folder: Path, drivers: Mode = Mode.ENFORCE) -> AsyncIterator[Partitions]:
    store, board, notes = open_store(folder), FeedBoard("epoch"), list[str]()
    writer, announcer = Writer(store), cast("Announcer", Heard(notes))
    smaller = SmallerPartitions(store, writer, board, announcer, policies(drivers))
    yield Partitions(smaller, store, board, notes)
    await writer.close()
    store.close()


async def test_kills_lead_step_by_step_and_are_known_after_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path) as partitions:
        for uid, step in (("a", None), ("b", None), ("c", 1)):
            partitions.ended(killed(uid, step))
        assert partitions.told == {str(EXECUTORS): {"steps": 2}}
        partitions.ended(killed("a"))  # seen again
        assert partitions.told == {str(EXECUTORS): {"steps": 2}}
    async with learning(tmp_path) as again:
        await again.smaller.restore()
        assert again.told == {str(EXECUTORS): {"steps": 2}}


@pytest.mark.slow
async def test_each_new_step_is_announced_once_where_it_is_given(tmp_path: Path) -> None:
    async with learning(tmp_path) as partitions:
        for uid, step in (("a", None), ("b", None), ("c", 1), ("d", 3)):
            partitions.ended(killed(uid, step))
        first, second, last = partitions.announced
        assert "step 1 of 3" in first
        assert "step 2 of 3" in second
        assert "more memory" in last
    off = tmp_path / "off"
    off.mkdir()
    async with learning(off, Mode.OFF) as partitions:
        partitions.ended(killed("a"))
        assert partitions.told
        assert partitions.announced == []


async def test_pods_of_others_and_runs_that_were_lowered_say_nothing(tmp_path: Path) -> None:
    async with learning(tmp_path) as partitions:
        partitions.ended(killed("a"), role=None)
        partitions.ended(replace(killed("b"), allocation_bytes=GIB // 2))
        assert partitions.told == {}


async def test_a_driver_that_failed_with_fewer_partitions_is_given_nothing(tmp_path: Path) -> None:
    async with learning(tmp_path) as partitions:
        failed = an_attempt("a").of(DRIVERS).ending(Outcome.FAILED).knowing(**{FEATURE: 0.0})
        partitions.ended(failed.built, role="driver")
        assert partitions.told == {str(EXECUTORS): {"steps": NOTHING}}


async def test_a_task_that_is_forgotten_is_told_no_more(tmp_path: Path) -> None:
    async with learning(tmp_path) as partitions:
        partitions.ended(killed("a"))
        for _ in range(2):
            partitions.smaller.task_forgotten(TaskForgotten(EXECUTORS))
            assert partitions.told == {}


async def test_no_more_tasks_are_told_than_are_borne(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(smaller_partitions, "MOST_TASKS", 1)
    async with learning(tmp_path) as partitions:
        partitions.ended(killed("a"))
        other = TaskId("shop", "spark.other.executor")
        partitions.ended(killed("b", task=other))
        assert partitions.told == {str(other): {"steps": 1}}
