"""Reads what the store knows of tasks, for the start of a controller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import SavedModel, Store, TaskSummary, Writer
from plimsoll_predictor.store.forgetting import KEPT_PER_TASK


@dataclass(frozen=True, slots=True)
class Remembered:
    """One task at the start, as the store knows it."""

    knowledge: Knowledge
    summary: TaskSummary


def remember_all(store: Store) -> dict[TaskId, Remembered]:
    """Read what the store knows of all tasks, in a handful of queries, whatever their number.

    Only their models are left out; see ``stored_models``.
    """
    lifts, cpus = store.lifts.waiting(), store.totals.cpu_uses()
    return {
        task: Remembered(
            Knowledge(
                task=task,
                policy=Policy(),
                runs=summary.runs_known,
                max_need_bytes=summary.max_need_bytes,
                lifts=lifts.get(task, {}),
                cpu=cpus.get(task),
            ),
            summary,
        )
        for task, summary in store.totals.by_task().items()
    }


async def stored_models(store: Store, writer: Writer) -> AsyncIterator[tuple[TaskId, SavedModel]]:
    """Go through the models of all tasks, those trained last at the end.

    They are read one by one, since a store may hold more than the memory: what has no room in the
    feed is forgotten before the next one comes.
    """
    models = store.models.serving()
    while (found := await writer.read(next, models, None)) is not None:
        yield found


def of_what_is_stored(store: Store, summary: TaskSummary, saved: SavedModel) -> SavedModel:
    """Let a training count only the runs that it knew and that are still stored.

    At the bound, as many runs are forgotten as come, so the number of runs shows no new ones.
    """
    if saved.runs is None or summary.observations < KEPT_PER_TASK:
        return saved
    new_runs = store.totals.runs_since(summary.task, saved.trained_s)
    return replace(saved, runs=min(saved.runs, summary.runs_known - new_runs))
