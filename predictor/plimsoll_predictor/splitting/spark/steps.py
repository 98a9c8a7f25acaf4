"""Says how much smaller an application's partitions become, from the ends of its pods.

Each pod of an application with smaller partitions says by how many steps. So the same end, seen
twice or in another order, leads to the same step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.record import Cause, FeatureValue, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.given import MOST_STEPS

FEATURE: Final = "partitions-step"
"""The feature of a driver and its executors that holds the step."""
NOTHING: Final = MOST_STEPS + 2
"""From here on nothing is given: a driver failed with fewer partitions than Spark's own."""
_DRIVER: Final = ".driver"
_EXECUTOR: Final = ".executor"
_ENGINE: Final = "spark."


@dataclass(frozen=True, slots=True)
class Ended:
    """A pod of Spark that ended.

    cause: None if it succeeded, or if it is unknown. lowered: whether it had less memory than its
    author wrote.
    """

    task: TaskId
    outcome: Outcome
    features: Mapping[str, FeatureValue]
    lowered: bool
    cause: Cause | None = None

    @property
    def died_of_memory(self) -> bool:
        """Whether it was killed at the memory its author wrote, or its own heap was full."""
        if self.cause is not None and self.cause.is_own_heap:
            return True  # the heap follows Spark's properties, whatever its pod has
        return self.outcome is Outcome.OOM_KILLED and not self.lowered


def executors_of(driver: TaskId) -> TaskId:
    """Return the task of a driver's executors; the same task if a label names both.

    >>> str(executors_of(TaskId("shop", "spark.sales.driver")))
    'shop/spark.sales.executor'
    """
    stem = driver.name.removesuffix(_DRIVER)
    return driver if stem == driver.name else TaskId(driver.namespace, f"{stem}{_EXECUTOR}")


def driver_of(task: TaskId) -> TaskId:
    """Return the driver's task for an executors' task; the inverse of ``executors_of``."""
    stem = task.name.removesuffix(_EXECUTOR)
    return task if stem == task.name else TaskId(task.namespace, f"{stem}{_DRIVER}")


def is_executors(task: TaskId) -> bool:
    """Say whether a task's name is that of an application's executors."""
    return task.name.startswith(_ENGINE) and task.name.endswith(_EXECUTOR)


def step_after(ended: Ended) -> int:
    """Return the step that its application is at after this end; 0 if it says nothing.

    An executor that died of memory leads to the next step; the one beyond ``MOST_STEPS`` says that
    smaller partitions do not help. A driver that failed with fewer partitions than Spark's own, for
    any reason, gets nothing any more. One that failed with smaller ones leads to the next step, as
    its executors' deaths do: whatever the reason, it gets nothing in the end. If driver and
    executors are one task, each of its pods counts so. A lift heals memory that was lowered.
    """
    given = _given(ended.features)
    failed = ended.outcome is Outcome.FAILED and not ended.died_of_memory
    if failed and given is not None and not is_executors(ended.task):
        return NOTHING if given == 0 else min(given + 1, MOST_STEPS + 1)
    if ended.task.name.endswith(_DRIVER):
        return NOTHING if given == 0 and ended.died_of_memory else (given or 0)
    return min((given or 0) + ended.died_of_memory, MOST_STEPS + 1)


def _given(features: Mapping[str, FeatureValue]) -> int | None:
    value = features.get(FEATURE)
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:4])
    if not isinstance(value, int | float) or not 0 <= value <= MOST_STEPS:
        return None
    return int(value)
