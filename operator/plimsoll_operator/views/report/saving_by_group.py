"""The tasks of a report in groups, and what sizing saves by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from plimsoll_operator.views.report.records import GroupsReport, TaskReport
from plimsoll_predictor.core.cpu import RunCpu, use_of
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.savings import by_group, run_level, task_level
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.task_groups import TaskUse, group_tasks
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds, decide_cpu
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.store import Store

FEWEST_TASKS: Final = 2
"""A group with fewer tasks says nothing."""
NAMED_TASKS: Final = 12
"""How many of a group's tasks are named; the rest is only counted."""


def gather_groups(store: Store, reports: Sequence[TaskReport]) -> GroupsReport | None:
    """The groups of the listed tasks; None if too few of them were measured.

    Cost: one pass over the observations and a short query a task.

    Raises:
        StoreError: if the store cannot be read now.
    """
    if len(reports) < FEWEST_TASKS:
        return None
    listed = {str(report.task): report for report in reports}
    uses = [use for use in store.totals.task_uses() if use.task in listed]
    runs = store.observations.run_cpus([listed[use.task].task for use in uses])
    return groups_of([_sized(use, listed[use.task], runs) for use in uses])


def groups_of(uses: Sequence[TaskUse]) -> GroupsReport | None:
    """The tables of these tasks; None if they are too few."""
    if len(uses) < FEWEST_TASKS:
        return None
    groups = group_tasks(uses)
    return GroupsReport(groups, by_group(groups), task_level(groups), run_level(groups))


def _sized(use: TaskUse, report: TaskReport, runs: Mapping[TaskId, Sequence[RunCpu]]) -> TaskUse:
    """Add a task's size: by its model's bins if the report shows a model, else by its largest need.

    A task with too few known runs keeps its request.
    """
    policy, detail = Policy(), report.detail
    sized_bytes = use.most_bytes * policy.headroom
    if detail is not None and detail.model is not None and detail.needs_bytes:
        sized_bytes = _mean_bytes(detail.model.bins, detail.needs_bytes)
    ask = CpuAsk(None)  # so that only what was used decides
    decision = decide_cpu(ask, use_of(runs.get(report.task, ())), policy, CpuBounds())
    cpu = decision.request_millicores
    return replace(
        use,
        sized_bytes=sized_bytes if use.runs >= policy.min_runs else use.request_bytes,
        sized_cores=use.request_cores if cpu is None else cpu / 1000,
    )


def _mean_bytes(bins: Bins, needs_bytes: Sequence[int]) -> float:
    """The mean allocation if every run got the ceiling of its own bin.

    The bins' own counts are not used: they count the runs of the training, not those whose mean use
    is shown here. A run above the last ceiling is lifted to its need.
    """
    needs = np.asarray(needs_bytes, dtype=np.float64)
    ceilings = np.asarray(bins.ceilings_bytes, dtype=np.float64)[bins.labels(needs)]
    return float(np.maximum(ceilings, needs).mean())
