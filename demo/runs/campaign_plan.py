"""The campaign of `make demo-campaign`, and the production runs after it. Pure: seeds decide all.

The campaign is a grid over the expected range. The production runs are drawn like all runs of the
demo: none of them is a point of the grid, and none is outsized.
"""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any, Final

from demo.runs.plan import REQUEST, SHOP, LiveRun, Phase, Shape
from demo.runs.pods import pod_spec
from demo.runs.workload import (
    JOIN_SALES,
    REGION_SHARES,
    SALES,
    Weight,
    Work,
    draw_weight,
    draw_work,
)

NAME: Final = "learn-join-sales"
TASK: Final = f"{SHOP}/{JOIN_SALES}"
ROWS: Final = (SALES[Weight.LIGHT][0], 250_000, 500_000, 900_000, 1_500_000, SALES[Weight.HEAVY][1])
MEMORY: Final = "3Gi"
"""The memory of each scenario: twice the largest need ever seen."""
PARALLELISM: Final = 4
PRODUCTION_RUNS: Final = 40
SEED: Final = 12
"""The one of the first thirty seeds whose runs come closest to the mix they are drawn from."""


def campaign(image: str) -> dict[str, Any]:
    """The ProfilingCampaign: six numbers of sales in each of four regions."""
    work = Work(JOIN_SALES, {}, seed=0)
    spec = pod_spec(work, image)
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "ProfilingCampaign",
        "metadata": {"name": NAME, "namespace": SHOP},
        "spec": {
            "task": JOIN_SALES,
            "podTemplate": {"spec": spec},
            "memory": MEMORY,
            "features": [
                {"name": "rows", "numeric": True, "argument": "--rows"},
                {"name": "region", "argument": "--region"},
            ],
            "scenarios": {
                "grid": [
                    {"name": "rows", "values": list(ROWS)},
                    {"name": "region", "values": list(REGION_SHARES)},
                ]
            },
            "parallelism": PARALLELISM,
            "order": "MostToLearn",
        },
    }


def production(runs: int = PRODUCTION_RUNS, seed: int = SEED) -> Phase:
    """Runs of the ordinary mix; every second one is a Job."""
    random, numbers = Random(seed), count(1)
    drawn = []
    for _ in range(runs):
        weight, number = draw_weight(random), next(numbers)
        shape = Shape.POD if number % 2 else Shape.JOB
        work = draw_work(JOIN_SALES, weight, random)
        drawn.append(LiveRun(f"{JOIN_SALES}-{number:02d}", SHOP, shape, work, weight))
    return Phase(f"production: {runs} runs that ask for {REQUEST}", tuple(drawn))
