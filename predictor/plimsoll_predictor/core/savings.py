"""Savings of sizing by group of tasks, in the form of the thesis's Tables 12 and 13. Pure.

Sizes here are requests of one run of each task, not memory-time: what a cluster has to hold at once
if every task runs once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plimsoll_predictor.core.task_groups import Group, GroupName, Groups, TaskUse
from plimsoll_predictor.core.units import GB

ONE_CORE: Final = 1.05
"""Cores. A task that never uses more runs on one: a second is not worth its request."""
NAMED_TASKS: Final = 5
"""Up to so many heavy tasks get a row each."""


class Resource(StrEnum):
    """The resource that is requested."""

    MEMORY = "Memory"
    CPU = "CPU"


class Way(StrEnum):
    """How the size after is determined."""

    MANUAL = "Manual"
    """One size for all of the row's tasks, as a person would set it from the figures."""
    PREDICTED = "Predictive"
    """Each task sized by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One row. before, used, after: bytes or cores; the mean of one run of one task, or the sum.

    used: on average; None if not measured. tasks: how many; label: which.
    """

    way: Way | None
    resource: Resource
    label: str
    tasks: int
    before: float
    used: float | None
    after: float

    @property
    def improved(self) -> float:
        """Share of the request that is saved; negative if more is requested."""
        return 1 - self.after / self.before if self.before else 0.0


@dataclass(frozen=True, slots=True)
class _Sized:
    """One task's figures in one resource."""

    way: Way
    before: float
    used: float | None
    after: float


def by_group(groups: Groups) -> tuple[Saving, ...]:
    """Requested, used and after, for each group: its memory and its CPU, as means of its tasks."""
    rows = []
    for group in groups:
        for resource in Resource:
            sized = [each for task in group.tasks for each in _sized(resource, task, group)]
            if sized:
                rows.append(_row(resource, group.name.value, sized, _mean))
    return tuple(rows)


def task_level(groups: Groups) -> tuple[Saving, ...]:
    """The rows of Table 12: CPU of tasks that use one core, memory by group, heavy tasks apart.

    Tasks that use more cores have a row only where sizing gives them less.
    """
    return (*_cpu_rows(groups), *_memory_rows(groups))


def run_level(groups: Groups) -> tuple[Saving, ...]:
    """The rows of Table 13: memory and CPU of one run of every task, summed."""
    rows = []
    for resource in Resource:
        sized = [e for group in groups for t in group.tasks for e in _sized(resource, t, group)]
        if sized:
            rows.append(_row(resource, "all tasks, once", sized, sum))
    return tuple(rows)


def words_for_amount(resource: Resource, amount: float) -> str:
    """Bytes in GB (1e9), or cores.

    >>> words_for_amount(Resource.MEMORY, 5.25e9), words_for_amount(Resource.CPU, 4.5)
    ('5.2 GB', '4.5 cores')
    """
    if resource is Resource.CPU:
        number = _short(amount)
        return f"{number} core" if number == "1" else f"{number} cores"
    return f"{_short(amount / GB)} GB"


def _short(amount: float) -> str:
    """Three digits, as many as tell two sizes apart."""
    if amount >= 100:
        return f"{amount:.0f}"
    return f"{amount:.1f}".removesuffix(".0") if amount >= 1 else f"{amount:.2g}"


def _cpu_rows(groups: Groups) -> Iterator[Saving]:
    everyone = [(task, group) for group in groups for task in group.tasks]
    for label, one_core in (("non-parallel", True), ("parallel", False)):
        chosen = [pair for pair in everyone if _runs_on_one(pair[0]) is one_core]
        sized = [each for task, group in chosen for each in _sized(Resource.CPU, task, group)]
        if sized and (one_core or any(each.after < each.before for each in sized)):
            yield _row(Resource.CPU, label, sized, _mean)


def _memory_rows(groups: Groups) -> Iterator[Saving]:
    for group in groups:
        sized = [(t, each) for t in group.tasks for each in _sized(Resource.MEMORY, t, group)]
        if group.name is GroupName.HEAVY and len(sized) <= NAMED_TASKS:
            for place, (task, each) in enumerate(sized, start=1):
                label = f"heavy task {place} ({task.task})"
                yield _row(Resource.MEMORY, label, [each], _mean)
        elif sized:
            figures = [each for _, each in sized]
            yield _row(Resource.MEMORY, group.name.value, figures, _mean)


def _row(
    resource: Resource, label: str, sized: Sequence[_Sized], add: Callable[[list[float]], float]
) -> Saving:
    used = [each.used for each in sized if each.used is not None]
    ways = {each.way for each in sized}
    return Saving(
        way=ways.pop() if len(ways) == 1 else None,
        resource=resource,
        label=label,
        tasks=len(sized),
        before=add([each.before for each in sized]),
        used=add(used) if used else None,
        after=add([each.after for each in sized]),
    )


def _sized(resource: Resource, task: TaskUse, group: Group) -> Iterator[_Sized]:
    """The task's figures, or nothing where it asks for nothing, or nobody measured."""
    if resource is Resource.MEMORY:
        before, after, one_size = task.request_bytes, task.sized_bytes, _whole_gb(group.most_bytes)
    else:
        before, after = task.request_cores, task.sized_cores
        one_size = 1.0 if _runs_on_one(task) else before or 0.0
    if before is None or (resource is Resource.CPU and task.most_cores is None):
        return
    used = task.used_bytes if resource is Resource.MEMORY else task.used_cores
    if after is None:
        yield _Sized(Way.MANUAL, before, used, one_size)
    else:
        yield _Sized(Way.PREDICTED, before, used, after)


def _runs_on_one(task: TaskUse) -> bool:
    return task.most_cores is not None and task.most_cores <= ONE_CORE


def _whole_gb(size_bytes: float) -> float:
    """The next whole GB, or the next tenth below one: what a person would write down."""
    step = GB if size_bytes >= GB else GB / 10
    return math.ceil(round(size_bytes / step, 9)) * step


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
