"""Tables 12 and 13: the savings of the groups of tasks, and one run of one scenario over all 27."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2, TaskRows
from plimsoll_predictor.core.task_groups import GroupName, TaskUse, group_tasks
from plimsoll_predictor.core.units import GB

STEP_GB: Final = 5
"""A group's one size is its largest need, rounded up to whole steps, as people set sizes."""


@dataclass(frozen=True, slots=True)
class Saving:
    """A row of Table 12 or 13. before, after: mean allocation of its tasks; after None: predicted.

    members: how many tasks. printed: before, after and improvement as in the thesis.
    """

    resource: str
    tasks: str
    members: int
    unit: str
    before: float
    after: float | None
    improved: float
    printed: str


def task_uses(tasks: Mapping[str, TaskRows]) -> list[TaskUse]:
    """The 27 tasks as the product's clustering takes them."""
    return [
        TaskUse(
            task=name,
            runs=len(rows.features),
            runtime_s=float(rows.runtime_s.mean()),
            request_bytes=rows.kind.memory_gb * GB,
            used_bytes=float(rows.need_bytes.mean()),
            most_bytes=float(rows.need_bytes.max()),
            request_cores=rows.kind.cores,
            used_cores=float(rows.cores_used.mean()),
            most_cores=float(rows.cores_used.max()),
        )
        for name, rows in tasks.items()
    ]


def table_12(tasks: Mapping[str, TaskRows], predicted: Mapping[str, float]) -> list[Saving]:
    """Task-level improvements. predicted: heavy task -> share of its memory-time saved."""
    uses = task_uses(tasks)
    single = [use for use in uses if math.ceil(use.most_cores or 1) <= 1]
    cores = float(np.mean([use.request_cores or 0 for use in single]))
    savings = [
        Saving(
            "CPU", "non-parallel", len(single), "cores", cores, 1, 1 - 1 / cores, "4.5 → 1: 77.8%"
        )
    ]
    printed = {GroupName.LIGHT: "55 → 5: 91.0%", GroupName.MODERATE: "42 → 20: 52.5%"}
    for group in group_tasks(uses):
        if group.name in printed:
            before = float(np.mean([use.request_bytes or 0 for use in group.tasks])) / GB
            after = math.ceil(group.most_bytes / GB / STEP_GB) * STEP_GB
            savings.append(
                Saving(
                    "memory",
                    group.name.value,
                    len(group.tasks),
                    "GB",
                    before,
                    after,
                    1 - after / before,
                    printed[group.name],
                )
            )
    for name, said in ((HEAVY_1, "350 → -: 85.7%"), (HEAVY_2, "100 → -: 69.7%")):
        before = tasks[name].kind.memory_gb
        savings.append(Saving("memory", name, 1, "GB", before, None, predicted[name], said))
    return savings


def table_13(savings: list[Saving], tasks: Mapping[str, TaskRows]) -> list[Saving]:
    """One run of one scenario, which has each of the 27 tasks once."""
    parallel = [rows.kind.cores for rows in tasks.values() if rows.cores_used.max() > 1]
    memory = [saving for saving in savings if saving.resource == "memory"]
    cpu = next(saving for saving in savings if saving.resource == "CPU")
    before = {
        "memory": sum(rows.kind.memory_gb for rows in tasks.values()),
        "CPU": sum(rows.kind.cores for rows in tasks.values()),
    }
    after = {
        "memory": sum(s.members * s.before * (1 - s.improved) for s in memory),
        "CPU": cpu.members * (cpu.after or 0) + sum(parallel),
    }
    printed = {"memory": "1520 → 325: 78.6%", "CPU": "132 → 43: 67.4%"}
    return [
        Saving(
            resource,
            "all",
            len(tasks),
            "GB" if resource == "memory" else "cores",
            before[resource],
            after[resource],
            1 - after[resource] / before[resource],
            printed[resource],
        )
        for resource in ("memory", "CPU")
    ]
