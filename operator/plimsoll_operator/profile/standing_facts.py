"""Who bids for a task's sizes, what it costs, and why one of them serves, in words.

Read from a standing as the controller has it or as the store keeps it; shown by `plimsoll
explain`, the page and the TaskProfile's status.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from plimsoll_operator.wording.drift_words import DriftFacts, drift_facts
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.experts.panel import YOUNG, YOUNG_RUNS, words_for_expert
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import HYSTERESIS, Bids, Standing
from plimsoll_predictor.knowledge.expert_names import SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFacts:
    """One expert of a task.

    bid_bytes: what it would give the usual run now; None if it cannot say.
    cost: what it is held to have cost, in sizes of a run; None before its first bid.
    times: that over the champion's cost; None where either is unknown or nothing cost anything.
    eligible: False for one that does not serve a task of so few runs.
    """

    name: str
    words: str
    bid_bytes: float | None
    cost: float | None
    times: float | None
    serves: bool
    eligible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingFacts:
    """A task's experts, the champion first, then the cheapest.

    runs: those that still count, as after a change.
    would: what enforcing would have come to on the runs that were only recommended for.
    """

    champion: str
    runs: int
    experts: tuple[ExpertFacts, ...]
    drift: DriftFacts
    would: Would = field(default_factory=Would)

    @property
    def young(self) -> bool:
        """Whether too few runs are known to trust the task's own costs."""
        return self.runs < YOUNG_RUNS

    @property
    def why(self) -> str:
        """Why the champion serves."""
        if self.young:
            return (
                f"only {counted(self.runs, 'run')} count, so it was chosen of"
                f" {_list(sorted(YOUNG))}, by what they cost other tasks when those were as young"
            )
        rival = self._rival
        if rival is None or rival.times is None:
            return "no other expert has bid yet"
        if self.champion != SAFE:
            return f"it was the cheapest so far; {SAFE} would have cost {self._safe_times} as much"
        if rival.times >= 1:
            return "no other was cheaper so far"
        return (
            f"no other was clearly cheaper: the best of them, {rival.name}, cost"
            f" {rival.times:.2f} times as much, and {1 / HYSTERESIS:.2f} times is asked for"
        )

    @property
    def would_change(self) -> tuple[str, ...]:
        """What would make another expert serve."""
        if self.young:
            more = YOUNG_RUNS - self.runs
            return (
                f"{counted(more, 'run')} more, and all experts compete on this task's own costs",
            )
        if self.champion != SAFE:
            return (
                f"it gives way to {SAFE} once that costs less than {HYSTERESIS:g} times as much,"
                " and to any other once that is cheaper",
            )
        return (f"another expert takes over once {SAFE} costs {HYSTERESIS:g} times as much as it",)

    @property
    def times(self) -> dict[str, float]:
        """Expert -> its cost over the champion's."""
        return {each.name: each.times for each in self.experts if each.times is not None}

    @property
    def _rival(self) -> ExpertFacts | None:
        return next((e for e in self.experts if not e.serves and e.times is not None), None)

    @property
    def _safe_times(self) -> str:
        times = self.times.get(SAFE)
        return "?" if times is None else f"{times:.2f} times"


def standing_facts(standing: Standing, pool: Pool, bids: Bids) -> StandingFacts:
    """What there is to say of a standing.

    bids: expert -> bytes for the usual run; ``Standing.bids`` gives those by rule.
    """
    costs = standing.costs(pool)
    champion_cost = costs.get(standing.champion)
    experts = [
        ExpertFacts(
            name=name,
            words=words_for_expert(name),
            bid_bytes=bids.get(name),
            cost=costs.get(name),
            times=_times(costs.get(name), champion_cost),
            serves=name == standing.champion,
            eligible=name in YOUNG or not standing.young,
        )
        for name in dict.fromkeys([standing.champion, *costs, *bids])
    ]
    experts.sort(key=lambda each: (not each.serves, math.inf if each.cost is None else each.cost))
    return StandingFacts(
        champion=standing.champion,
        runs=standing.past.runs,
        experts=tuple(experts),
        drift=drift_facts(standing.drift),
        would=replace(standing.would),
    )


def facts_or_none(
    standing: Standing | None, pool: Pool, bids: Mapping[str, float] | None = None
) -> StandingFacts | None:
    """The facts of a task of which a run is known; None of any other."""
    if standing is None or not standing.past.runs:
        return None
    return standing_facts(standing, pool, bids or {})


def _times(cost: float | None, champion_cost: float | None) -> float | None:
    if cost is None or not champion_cost:
        return None
    return cost / champion_cost


def _list(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"
