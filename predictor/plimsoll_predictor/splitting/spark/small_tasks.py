"""Finds tasks that are too small: they pay a task's fixed cost more often than needed.

It says nothing if adaptive execution makes partitions larger by itself: measured there, partition
counts change runtimes by no more than noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.spark.application import Application, Stage
from plimsoll_predictor.splitting.spark.settings import (
    ADAPTIVE,
    COALESCE,
    DEFAULT_ADVISORY_BYTES,
    DEFAULT_SPLIT_BYTES,
    LEAST_PARTITION_BYTES,
    SPLIT,
)

LEAST_SHARE: Final = 0.1
"""As a share of the stages' time: a smaller gain is within the differences between equal runs."""
MOST_TASK_S: Final = 1.0
"""If half of the tasks took longer, they are no small tasks."""
_MANY: Final = 20
"""With so many tasks in a stage, its quick ones are no accident."""
_BYTES_A_SECOND: Final = 20 * MIB
"""The assumed throughput of a task; most are faster, so less of their time counts as fixed cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTasks:
    """Many small tasks, where fewer would have done the same work.

    stages: how many. tasks: how many they had; enough: how many would have sufficed. own_s: least
    and most fixed cost of a task. at_once: tasks at a time. saves_s: (tasks - enough) x own_s /
    at_once, summed over stages. setting, value: the property to set.
    """

    stages: int
    tasks: int
    enough: int
    own_s: tuple[float, float]
    at_once: float
    saves_s: tuple[float, float]
    setting: str
    value: str


def small_partitions(application: Application) -> SmallTasks | None:
    """Return what too many shuffle partitions cost; None if nothing."""
    stages = [each for each in application.stages if _shuffles(each)]
    off = any(not each.settings.adaptive for each in stages)
    setting = ADAPTIVE if off else COALESCE
    return _cost(application, stages, lambda each: _coalesced(each, application.slots), setting)


def small_splits(application: Application) -> SmallTasks | None:
    """Return the cost of reading files in small pieces; None if nobody asked for small ones.

    Files that are small themselves are not the setting's fault.
    """
    stages = [
        each
        for each in application.stages
        if each.query and each.input_bytes and each.settings.split_bytes < DEFAULT_SPLIT_BYTES
    ]

    def enough(stage: Stage) -> int:
        pieces = ceil(stage.tasks * stage.settings.split_bytes / DEFAULT_SPLIT_BYTES)
        return max(pieces, application.slots)

    return _cost(application, stages, enough, SPLIT)


def _shuffles(stage: Stage) -> bool:
    """Whether it has as many partitions as the property says, which code may override."""
    settings = stage.settings
    chosen = stage.by_setting and stage.tasks == settings.partitions
    return chosen and not settings.coalesces


def _coalesced(stage: Stage, slots: int) -> int:
    """Return how many partitions adaptive execution makes of a stage's input."""
    each = ceil(stage.shuffle_bytes / slots)
    aim = min(DEFAULT_ADVISORY_BYTES, max(each, LEAST_PARTITION_BYTES))
    return max(1, ceil(stage.shuffle_bytes / aim))


def _cost(
    application: Application,
    stages: Iterable[Stage],
    enough: Callable[[Stage], int],
    setting: str,
) -> SmallTasks | None:
    small = [each for each in stages if each.median_s < MOST_TASK_S and each.tasks > enough(each)]
    if not small:
        return None
    floor_s = _quickest_s(application.stages)
    bounds = [_own_s(each, floor_s) for each in small]
    fewer = [each.tasks - enough(each) for each in small]
    low, high = (
        sum(
            count * own[side] / each.at_once
            for each, own, count in zip(small, bounds, fewer, strict=True)
        )
        for side in (0, 1)
    )
    if high < LEAST_SHARE * application.stage_s:
        return None
    return SmallTasks(
        stages=len(small),
        tasks=sum(each.tasks for each in small),
        enough=sum(map(enough, small)),
        own_s=(min(low for low, _ in bounds), max(high for _, high in bounds)),
        at_once=sum(each.busy_s for each in small)
        / max(sum(each.busy_s / each.at_once for each in small), 1e-9),
        saves_s=(low, high),
        setting=setting,
        value="128m" if setting == SPLIT else "true",
    )


def _quickest_s(stages: Sequence[Stage]) -> float | None:
    """The time of the quick tasks in the stage with the quickest ones."""
    return min((each.quick_s for each in stages if each.tasks >= _MANY), default=None)


def _own_s(stage: Stage, floor_s: float | None) -> tuple[float, float]:
    """The fixed cost of a task of the stage, at least and at most.

    At most, it is the whole time of a quick task minus that for the bytes it moved; at least, it is
    the time of the quick tasks of the quickest stage, if that is less.
    """
    moved = (stage.shuffle_bytes + stage.input_bytes) / stage.tasks
    high = max(0.0, stage.quick_s - moved / _BYTES_A_SECOND)
    return min(high, high if floor_s is None else floor_s), high
