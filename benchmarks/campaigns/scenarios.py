"""The campaigns of `make bench-campaigns-node`: sixty scenarios of each of the demo's two tasks."""

from __future__ import annotations

import math
from typing import Any, Final

from demo.runs.pods import pod_spec
from demo.runs.workload import (
    CELLS,
    COLUMNS,
    JOIN_SALES,
    REGION_SHARES,
    SALES,
    TRAIN_DEMAND,
    Weight,
    Work,
)

TASKS: Final = (TRAIN_DEMAND, JOIN_SALES)
SCENARIOS: Final = 60
MEMORY: Final = "3Gi"
"""The memory of each scenario: twice the largest need seen in either task."""
PARALLELISM: Final = 2
"""The parallelism of each of two campaigns that run at once."""


def scenarios(task: str) -> list[dict[str, str]]:
    """Return a grid over the expected range, from the lightest to the heaviest.

    train-demand: ten table sizes for each number of columns. join-sales: fifteen numbers of sales
    for each region.
    """
    if task == TRAIN_DEMAND:
        sizes = _steps(CELLS[Weight.LIGHT][0], CELLS[Weight.HEAVY][1], SCENARIOS // len(COLUMNS))
        return [
            {"rows": str(int(round(cells / columns, -2))), "columns": str(columns)}
            for columns in COLUMNS
            for cells in sizes
        ]
    count = SCENARIOS // len(REGION_SHARES)
    rows = _steps(SALES[Weight.LIGHT][0], SALES[Weight.HEAVY][1], count)
    return [
        {"rows": str(round(each, -2)), "region": region}
        for region in REGION_SHARES
        for each in rows
    ]


def campaign(task: str, name: str, image: str, *, plain: bool) -> dict[str, Any]:
    """Return the ProfilingCampaign of a task."""
    features = [
        {"name": feature, "argument": f"--{feature}"}
        | ({"numeric": True} if feature != "region" else {})
        for feature in scenarios(task)[0]
    ]
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "ProfilingCampaign",
        "metadata": {"name": name},
        "spec": {
            "task": task,
            "podTemplate": {"spec": pod_spec(Work(task, {}, seed=0), image)},
            "memory": MEMORY,
            "features": features,
            "scenarios": {"rows": scenarios(task)},
            "parallelism": PARALLELISM,
            "order": "Plain" if plain else "MostToLearn",
        },
    }


def _steps(least: int, most: int, count: int) -> list[int]:
    """Return so many sizes from the least to the most, at a constant factor."""
    factor = math.log(most / least) / (count - 1)
    return [round(least * math.exp(factor * number)) for number in range(count)]
