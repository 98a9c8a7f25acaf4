"""Synthetic tasks as traces: laws placed in time, with the oracle's sizes for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from math import ceil
from types import MappingProxyType
from typing import Final

import numpy as np

from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.synthetic import laws
from plimsoll_predictor.replay.synthetic.laws import Law
from plimsoll_predictor.replay.synthetic.oracle import (
    SAMPLE,
    Ladder,
    OracleSizer,
    cheapest_ladder,
)

RUNS: Final = 100
KNOWN_AFTER: Final = 10
"""The oracle of a task with a feature law gives its first runs the request, as all others do."""
REQUEST_BYTES: Final = 1 * GIB
BURST_REQUEST_BYTES: Final = 8 * GIB
BURST_TASKS: Final = 6
BURST_RUNS: Final = (40, 90)
BURST_FIRST: Final = (1, 3)
_APART: Final = 10
"""Runs of a task are so many runtimes apart: the one before has ended, with its retries."""
_JITTER: Final = 0.1
"""The deviation of the logarithm of runtimes."""
FEW_LEVELS: Final = 8
"""The most levels of a task whose oracle considers each level's distance from the request."""
_START_S: Final = 1_700_000_000.0

RUNTIMES_S: Final[Mapping[str, float]] = MappingProxyType(
    {"20 s": 20.0, "10 min": 600.0, "1 h": 3600.0, "5 h": 18_000.0}
)


class Family(StrEnum):
    """What a synthetic task demonstrates."""

    FEATURE = "ruled by a feature"
    UNINFLUENCED = "a feature without influence"
    TAIL = "tails"
    SHIFT = "shifts"
    ELASTIC = "elastic"
    BURST = "bursts"
    INTERACTION = "ruled by two features together"
    MIX = "mixes"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Rows in time, and the oracle's size for each.

    shown: line -> the share of its allocation that the run's peak shows whatever it needs; only
        elastic runs are in it.
    later: lines of the runs after their task's KNOWN_AFTER first.
    """

    name: str
    family: Family
    rows: Sequence[TraceRow]
    first_bytes: Mapping[int, int]
    steps: Mapping[int, float]
    shown: Mapping[int, float]
    later: frozenset[int]

    def oracle(self) -> OracleSizer:
        """A fresh sizer that knows the laws."""
        return OracleSizer(self.first_bytes, self.steps)


RULED: Final = frozenset({Family.FEATURE, Family.INTERACTION})
"""Families whose oracle does not know the law from the first run on."""
_FEATURE_NOISE: Final = 0.05
LAWS: Final[Mapping[Family, Mapping[str, Law]]] = MappingProxyType(
    {
        Family.FEATURE: {
            "linear": Law(level=laws.linear, chance=laws.lognormal(_FEATURE_NOISE)),
            "linear, exact": Law(level=laws.linear, chance=laws.exact),
            "linear, noise of 15%": Law(level=laws.linear, chance=laws.lognormal(0.15)),
            "log-log": Law(level=laws.power, chance=laws.lognormal(_FEATURE_NOISE)),
            "steps": Law(level=laws.steps, chance=laws.lognormal(_FEATURE_NOISE)),
            "categories": Law(level=laws.categories, chance=laws.lognormal(_FEATURE_NOISE)),
            "two features": Law(level=laws.two_features, chance=laws.lognormal(_FEATURE_NOISE)),
            "among four others": Law(
                level=laws.among_others, chance=laws.lognormal(_FEATURE_NOISE)
            ),
        },
        Family.UNINFLUENCED: {
            "steady": Law(level=laws.uninfluenced(300), chance=laws.lognormal(_FEATURE_NOISE)),
            "spread": Law(level=laws.uninfluenced(300), chance=laws.lognormal(0.4)),
        },
        Family.TAIL: {
            "normal": Law(level=laws.steady(300), chance=laws.normal(0.1)),
            "lognormal": Law(level=laws.steady(150), chance=laws.lognormal(0.6)),
            "Pareto 3": Law(level=laws.steady(100), chance=laws.pareto(3.0)),
            "Pareto 2": Law(level=laws.steady(60), chance=laws.pareto(2.0)),
            "Pareto 1.5": Law(level=laws.steady(30), chance=laws.pareto(1.5)),
        },
        Family.SHIFT: {
            "doubles": Law(level=laws.shifted(300, 2.0), chance=laws.lognormal(_FEATURE_NOISE)),
            "halves": Law(level=laws.shifted(600, 0.5), chance=laws.lognormal(_FEATURE_NOISE)),
        },
        Family.ELASTIC: {
            "fills 90%": Law(
                level=laws.steady(200), chance=laws.lognormal(_FEATURE_NOISE), shown=0.9
            ),
        },
        Family.INTERACTION: {
            "rows times columns": Law(level=laws.product, chance=laws.lognormal(_FEATURE_NOISE)),
            "rows by kind": Law(level=laws.line_by_kind, chance=laws.lognormal(_FEATURE_NOISE)),
        },
    }
)
BURSTS: Final[Mapping[str, Law]] = MappingProxyType(
    {
        "lognormal": Law(level=laws.steady(300), chance=laws.lognormal(1.0), by_need=True),
        "Pareto 2": Law(level=laws.steady(200), chance=laws.pareto(2.0), by_need=True),
        "Pareto 1.5": Law(level=laws.steady(100), chance=laws.pareto(1.5), by_need=True),
    }
)


def one_after_another(
    family: Family, name: str, runtime_s: float, *, seed: int, runs: int = RUNS
) -> World:
    """A task of LAWS whose runs follow each other."""
    random = np.random.default_rng([seed, *name.encode()])
    task = _Task(name, LAWS[family][name], REQUEST_BYTES, runtime_s)
    place = task.drawn(random, runs)
    submit_s = _START_S + _places(runs) * _APART * runtime_s
    known_after = KNOWN_AFTER if family in RULED else 0
    return _world(name, family, [_placed(task, place, submit_s, known_after)])


def bursts(name: str, runtime_s: float, *, seed: int) -> World:
    """Tasks with one to three small short runs that end before the rest is submitted at once."""
    random = np.random.default_rng([seed, *name.encode()])
    placed = []
    for number in range(BURST_TASKS):
        task = _Task(f"{name}-{number}", BURSTS[name], BURST_REQUEST_BYTES, runtime_s)
        runs = int(random.integers(*BURST_RUNS, endpoint=True))
        first = int(random.integers(*BURST_FIRST, endpoint=True))
        drawn = task.drawn(random, runs)
        # Small runs end first: the burst waited only for a free node.
        order = np.concatenate([np.argsort(drawn.need_bytes)[:first], np.arange(runs)])
        order = order[np.sort(np.unique(order, return_index=True)[1])]
        drawn = drawn.ordered(order)
        began_s = _START_S + number * 400 * runtime_s
        waits_s = float(drawn.runtime_s[:first].max()) + 1.0
        submit_s = np.where(np.arange(runs) < first, began_s, began_s + waits_s)
        placed.append(_placed(task, drawn, submit_s, 0))
    return _world(name, Family.BURST, placed)


def mix(runtime_s: float, *, seed: int) -> World:
    """All tasks whose runs follow each other in one trace, each with its own runtime."""
    random = np.random.default_rng([seed, 77])
    placed = []
    for family, of_family in LAWS.items():
        for name, law in of_family.items():
            own_s = runtime_s * float(random.lognormal(0.0, 0.5))
            task = _Task(f"{family.value}: {name}", law, REQUEST_BYTES, own_s)
            began_s = _START_S + float(random.uniform(0, 200)) * runtime_s
            submit_s = began_s + _places(RUNS) * _APART * own_s
            known_after = KNOWN_AFTER if family in RULED else 0
            placed.append(_placed(task, task.drawn(random, RUNS), submit_s, known_after))
    return _world("all of the above", Family.MIX, placed)


def _places(runs: int) -> laws.Vector:
    return np.asarray(np.arange(runs), dtype=np.float64)


def names_of(family: Family) -> tuple[str, ...]:
    """The tasks of a family."""
    if family is Family.BURST:
        return tuple(BURSTS)
    return tuple(LAWS.get(family, {"all of the above": None}))


def world(family: Family, name: str, runtime_s: float, *, seed: int) -> World:
    """Any world by its family and name."""
    if family is Family.BURST:
        return bursts(name, runtime_s, seed=seed)
    if family is Family.MIX:
        return mix(runtime_s, seed=seed)
    return one_after_another(family, name, runtime_s, seed=seed)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Runs of a task in order; each field is (n,) or of length n."""

    levels: laws.Levels
    need_bytes: laws.Vector
    runtime_s: laws.Vector

    def ordered(self, order: np.ndarray) -> _Drawn:
        levels = laws.Levels(
            level_bytes=self.levels.level_bytes[order],
            features=tuple(self.levels.features[each] for each in order),
        )
        return _Drawn(levels, self.need_bytes[order], self.runtime_s[order])


@dataclass(frozen=True, slots=True)
class _Task:
    name: str
    law: Law
    request_bytes: int
    runtime_s: float

    def drawn(self, random: np.random.Generator, runs: int) -> _Drawn:
        levels = self.law.level(random, runs)
        chance = self.law.chance(random, runs)
        # A request is always enough: a run succeeds as its author wrote it.
        need_bytes = np.clip(levels.level_bytes * chance, MIB, self.request_bytes)
        taken = random.lognormal(0.0, _JITTER, runs) * (chance if self.law.by_need else 1.0)
        return _Drawn(levels, np.floor(need_bytes), self.runtime_s * taken)

    def ladders(self, levels_bytes: laws.Vector) -> dict[float, Ladder]:
        """The oracle's ladder for each level."""
        levels = [float(level) for level in np.unique(levels_bytes)]
        if len(levels) > FEW_LEVELS:
            # Each level has another distance to the request, which few of them reach.
            return dict.fromkeys(levels, _ladder(self.law, float("inf")))
        return {level: _ladder(self.law, self.request_bytes / level) for level in levels}


@cache
def _ladder(law: Law, most: float) -> Ladder:
    chance = law.chance(np.random.default_rng(SAMPLE), SAMPLE)
    runtimes = chance if law.by_need else np.ones(SAMPLE)
    return cheapest_ladder(np.minimum(chance, most), runtimes, most)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A task's rows, without lines, and the oracle's size and step for each."""

    rows: list[TraceRow]
    first_bytes: list[int]
    steps: list[float]
    shown: float


def _placed(task: _Task, drawn: _Drawn, submit_s: laws.Vector, known_after: int) -> _Placed:
    ladders = task.ladders(drawn.levels.level_bytes)
    rows, first_bytes, steps = [], [], []
    for place, level in enumerate(drawn.levels.level_bytes):
        start_s, runtime_s = float(submit_s[place]), float(drawn.runtime_s[place])
        rows.append(
            TraceRow(
                line=0,
                run=f"{task.name}/{place}",
                task=task.name,
                item=None,
                submit_s=start_s,
                start_s=start_s,
                complete_s=start_s + runtime_s,
                runtime_s=runtime_s,
                cpus=None,
                preset_bytes=task.request_bytes,
                input_bytes=None,
                features=drawn.levels.features[place],
                peak_bytes=int(drawn.need_bytes[place]),
            )
        )
        ladder = ladders[float(level)]
        known_bytes = min(ceil(float(level) * ladder.multiple), task.request_bytes)
        first_bytes.append(known_bytes if place >= known_after else task.request_bytes)
        steps.append(ladder.step)
    return _Placed(rows, first_bytes, steps, task.law.shown)


def _world(name: str, family: Family, placed: Iterable[_Placed]) -> World:
    rows: list[TraceRow] = []
    first_bytes: dict[int, int] = {}
    steps: dict[int, float] = {}
    shown: dict[int, float] = {}
    later: set[int] = set()
    for task in placed:
        for place, row in enumerate(task.rows):
            line = len(rows) + 2
            rows.append(replace(row, line=line))
            first_bytes[line], steps[line] = task.first_bytes[place], task.steps[place]
            if task.shown:
                shown[line] = task.shown
            if place >= KNOWN_AFTER:
                later.add(line)
    return World(
        name=name,
        family=family,
        rows=rows,
        first_bytes=first_bytes,
        steps=steps,
        shown=shown,
        later=frozenset(later),
    )
