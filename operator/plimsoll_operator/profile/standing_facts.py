"""Says which experts bid for a task's sizes, what they cost, and why one of them serves.

The facts come from the controller's or the store's standing. `plimsoll explain`, the page and the
TaskProfile's status show them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from plimsoll_operator.wording.drift_words import DriftFacts, drift_facts
from plimsoll_operator.wording.price_words import FailurePrice
from plimsoll_operator.wording.raised_words import words_for_rule
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.experts.guard import HELD_RUNS, Comparison
from plimsoll_predictor.experts.panel import YOUNG, YOUNG_RUNS, words_for_expert
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import HYSTERESIS, Bids, Standing
from plimsoll_predictor.knowledge.error_budget import NOTHING_SPENT, Spent
from plimsoll_predictor.knowledge.expert_names import SAFE
from plimsoll_predictor.knowledge.guarded import Guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFacts:
    """One expert of a task.

    bid_bytes: its size for the usual run now; None if it has none.
    cost: its estimated cost, in sizes of a run; None before its first bid.
    times: its cost divided by the champion's; None if either is unknown or that is zero.
    eligible: False if it does not serve a task with so few runs.
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

    runs: those that still count after a change of level.
    would: the result that enforcing would have had for runs in recommend mode.
    floor: the lowest size, and the reason for it; empty if there is none.
    lately: the memory that its sizes held, and that its requests would have held.
    guarded: what the guard sets for it, and why; None if its experts decide.
    spent: how many runs were killed below their request; kill_causes: by which causes.
    follows: the features that the champion's sizes depend on, and how; empty if none.
    price: of a failed attempt, by its policy; None if nobody asked for it.
    """

    champion: str
    runs: int
    experts: tuple[ExpertFacts, ...]
    drift: DriftFacts
    would: Would = field(default_factory=Would)
    floor: str = ""
    lately: Comparison = field(default_factory=Comparison)
    guarded: Guarded | None = None
    spent: Spent = NOTHING_SPENT
    kill_causes: Mapping[str, int] = field(default_factory=dict)
    price: FailurePrice | None = None
    follows: str = ""

    @property
    def young(self) -> bool:
        """Say whether the task has too few runs to trust its own costs."""
        return self.runs < YOUNG_RUNS

    @property
    def why(self) -> str:
        """Return the reason why the champion serves."""
        if self.guarded is not None:
            return self.guarded.words
        if self.young:
            *others, last = sorted(YOUNG)
            return (
                f"only {counted(self.runs, 'run')} count, so it was chosen of {', '.join(others)}"
                f" and {last}, by what they cost other tasks when those were as young"
            )
        times = self.times
        rival = next((name for name in times if name != self.champion), None)
        if rival is None:
            return "no other expert has bid yet"
        if self.champion != SAFE:
            safe = f"{times[SAFE]:.2f} times" if SAFE in times else "?"
            return f"it was the cheapest so far; {SAFE} would have cost {safe} as much"
        if times[rival] >= 1:
            return "no other was cheaper so far"
        return (
            f"no other was clearly cheaper: the best of them, {rival}, cost"
            f" {times[rival]:.2f} times as much, and {1 / HYSTERESIS:.2f} times is asked for"
        )

    @property
    def would_change(self) -> tuple[str, ...]:
        """Return the events that would make another expert serve."""
        if self.guarded is not None:
            return (f"its experts are tried again {HELD_RUNS} runs after the guard stepped in",)
        if self.young:
            more = counted(YOUNG_RUNS - self.runs, "run")
            return (f"{more} more, and all experts compete on this task's own costs",)
        if self.champion != SAFE:
            return (
                f"it gives way to {SAFE} once that costs less than {HYSTERESIS:g} times as much,"
                " and to any other once that is cheaper",
            )
        return (f"another expert takes over once {SAFE} costs {HYSTERESIS:g} times as much as it",)

    @property
    def times(self) -> dict[str, float]:
        """Expert -> its cost divided by the champion's, in the experts' order."""
        return {one.name: one.times for one in self.experts if one.times is not None}


def standing_facts(
    standing: Standing | None, pool: Pool, bids: Bids | None = None
) -> StandingFacts | None:
    """Return the facts of a standing; None while no run of its task is known.

    bids: expert -> bytes for the usual run; ``Standing.bids`` gives those of the rules.
    """
    if standing is None or not standing.past.runs:
        return None
    costs, bids, floor = standing.costs(pool), bids or {}, standing.floors.floor
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
    experts.sort(key=lambda one: (not one.serves, math.inf if one.cost is None else one.cost))
    return StandingFacts(
        champion=standing.champion,
        runs=standing.past.runs,
        experts=tuple(experts),
        drift=drift_facts(standing.drift),
        would=replace(standing.would),
        floor=floor.words if floor is not None else "",
        lately=replace(standing.guard.request),
        guarded=standing.guard.guarded,
        spent=standing.spending.spent,
        kill_causes=standing.spending.causes,
        follows=words_for_rule(standing.rules.get(standing.champion), standing.past.runs),
    )


def _times(cost: float | None, champion_cost: float | None) -> float | None:
    if cost is None or not champion_cost:
        return None
    return cost / champion_cost
