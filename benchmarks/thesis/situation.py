"""SYNTHETIC: the situation of the thesis, made by a seeded generator. No row of it was measured.

The thesis's data belongs to its company and was never published. Its statements about the data
(chapter 5.1) are rebuilt here: 27 tasks in four groups of allocations, 380 runs in 2020 over 153
scenarios in four regions, two heavy tasks of 1,460 rows, and what drives their needs.
``docs/thesis.md`` says which sentence each number comes from; ``facts.py`` compares the result with
the statements.

A heavy task's need arises as follows. A run predicts sales for each product and each day left, so
its workload is products x days left x a region's factor x hidden price effects (of the scenario,
and of the day), which no feature shows. Few scenarios cover a whole assortment: they are the heavy
cases. The need follows the workload; the duration grows with the need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

REGIONS: Final = ("america", "asia", "europe", "north")
REGION_FACTORS: Final = (1.25, 0.7, 1.0, 0.85)
"""Price points per product differ between regions (thesis 5.1.3: 'the region also brings variance
to the usage'); no number among the features shows this factor."""
SALES: Final = (
    (date(2020, 1, 2), 49),
    (date(2020, 3, 19), 35),
    (date(2020, 6, 4), 63),
    (date(2020, 9, 17), 35),
    (date(2020, 11, 12), 49),
)
"""First day and length in days. A region starts up to two weeks later."""

BATCHES_OF_4, BATCHES_OF_3 = 33, 7
RUNS_OF_4, RUNS_OF_3 = 320, 60
"""Scenarios run in batches, each on several dates: 33 x 4 + 7 x 3 = 153 scenarios,
320 + 60 = 380 runs, 320 x 4 + 60 x 3 = 1,460 rows."""
ASSORTMENTS: Final = 6
"""Scenarios that cover a whole assortment; with their dates, 'merely dozens' of heavy cases."""

SCENARIO_PRICE_SPREAD: Final = 0.25
DAY_PRICE_SPREAD: Final = 0.15
"""The spread of the logarithms of the hidden price effects."""
LARGEST_WORKLOAD_GB: Final = 175.0
"""Workload is scaled so that the largest need of heavy task 1 is the thesis's maximum."""
DAY_S: Final = 86_400.0
HOUR_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A composite input of runs.

    products: garments for sale on the sale's first day. price_effect: hidden from every feature.
    """

    name: str
    region: str
    sale_start: date
    sale_end: date
    departments: int
    stores: int
    products: int
    price_effect: float


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """Each scenario of each run, for which a scenario's task is instantiated; in time order.

    scenario, run: (n,), index of each. on: its execution date. products: (n,), still for sale.
    submitted_s: (n,), Unix seconds. workload_gb: (n,), in GB of heavy task 1's needs.
    """

    scenario: NDArray[np.int64]
    run: NDArray[np.int64]
    on: Sequence[date]
    products: NDArray[np.int64]
    submitted_s: NDArray[np.float64]
    workload_gb: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """Scenarios and their runs; the tasks' rows are made from it in ``tasks.py``."""

    seed: int
    scenarios: Sequence[Scenario]
    instances: Instances

    @property
    def runs(self) -> int:
        """Runs: one batch of scenarios on one date."""
        return int(self.instances.run.max()) + 1


def the_situation(seed: int) -> Situation:
    """Make the scenarios and their runs. The same seed gives the same situation."""
    draw = np.random.default_rng(seed)
    sizes = [4] * BATCHES_OF_4 + [3] * BATCHES_OF_3
    dates = [
        *_shares(RUNS_OF_4, BATCHES_OF_4, draw),
        *_shares(RUNS_OF_3, BATCHES_OF_3, draw),
    ]
    order = draw.permutation(len(sizes))
    assortments = set(draw.choice(sum(sizes), ASSORTMENTS, replace=False).tolist())
    scenarios: list[Scenario] = []
    planned: list[tuple[float, int, list[int], date]] = []
    for place, batch in enumerate(order.tolist()):
        region = place % len(REGIONS)
        start, days = SALES[(place // len(REGIONS)) % len(SALES)]
        start += timedelta(days=int(draw.integers(0, 15)))
        members = list(range(len(scenarios), len(scenarios) + sizes[batch]))
        for member in members:
            scenarios.append(_scenario(member, region, (start, days), member in assortments, draw))
        for on in _execution_dates(start, days, dates[batch]):
            at_s = (on - date(1970, 1, 1)).days * DAY_S + draw.uniform(0, 20 * HOUR_S)
            planned.append((at_s, batch, members, on))
    planned.sort(key=lambda run: run[0])
    return Situation(seed, tuple(scenarios), _instances(planned, scenarios, draw))


def _shares(total: int, parts: int, draw: np.random.Generator) -> list[int]:
    """``total`` divided into about even ``parts``, some of them one more or less."""
    shares = [total // parts + (part < total % parts) for part in range(parts)]
    for first, second in draw.permutation(parts)[: parts // 2 * 2].reshape(-1, 2).tolist():
        moved = int(draw.integers(0, 3))
        shares[first] += moved
        shares[second] -= moved
    return shares


def _execution_dates(start: date, days: int, count: int) -> list[date]:
    """Markdowns are decided at even steps over a sale, on the first day at the earliest."""
    return [start + timedelta(days=int(place)) for place in np.linspace(0, days - 2, count)]


def _scenario(
    number: int,
    region: int,
    sale: tuple[date, int],
    is_assortment: bool,
    draw: np.random.Generator,
) -> Scenario:
    start, days = sale
    if is_assortment:
        products, departments = draw.lognormal(np.log(26_000), 0.55), int(draw.integers(12, 30))
    else:
        products, departments = draw.lognormal(np.log(620), 0.7), int(draw.integers(1, 9))
    return Scenario(
        name=f"scenario-{number:03}",
        region=REGIONS[region],
        sale_start=start,
        sale_end=start + timedelta(days=days),
        departments=departments,
        stores=int(draw.integers(20, 600)),
        products=int(products),
        price_effect=float(draw.lognormal(0.0, SCENARIO_PRICE_SPREAD)),
    )


def _instances(
    planned: Sequence[tuple[float, int, list[int], date]],
    scenarios: Sequence[Scenario],
    draw: np.random.Generator,
) -> Instances:
    rows = [
        (member, run, on, at_s + 30.0 * place)
        for run, (at_s, _, members, on) in enumerate(planned)
        for place, member in enumerate(members)
    ]
    places = [scenarios[member] for member, *_ in rows]
    on = [row[2] for row in rows]
    length = np.array([(s.sale_end - s.sale_start).days for s in places], dtype=np.float64)
    left = np.array([(s.sale_end - day).days for s, day in zip(places, on, strict=True)])
    # A third of the garments are gone by the end of a sale.
    remaining = 1 - (1 - left / length) / 3
    products = np.maximum(
        np.array([s.products for s in places]) * remaining * draw.normal(1, 0.03, len(rows)), 1
    ).astype(np.int64)
    factors = dict(zip(REGIONS, REGION_FACTORS, strict=True))
    hidden = np.array([s.price_effect * factors[s.region] for s in places])
    hidden *= draw.lognormal(0.0, DAY_PRICE_SPREAD, len(rows))
    workload = products * left * hidden
    return Instances(
        scenario=np.array([row[0] for row in rows]),
        run=np.array([row[1] for row in rows]),
        on=on,
        products=products,
        submitted_s=np.array([row[3] for row in rows]),
        workload_gb=workload / workload.max() * LARGEST_WORKLOAD_GB,
    )
