"""A slow guard: holds a task to its request or to max-seen where learned sizes did worse for long.

Experts are charged for what they would have cost; the guard counts what was really held, including
failed attempts, whatever decided it. It is slow because a quick one loses more than it saves: bad
luck of a few dozen runs looks the same as a task that cannot be learned.

It is part of what a task's experts know: the same runs in the same order give the same state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.experts.charging import MOST_ATTEMPTS, SHORTEST_RUNTIME_S, EndedRun
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.guarded import Guarded
from plimsoll_predictor.knowledge.ladder import GEOMETRIC_STEP

FORGETTING: Final = 0.997
"""Each run leaves this share of its sums, so that the last few hundred count."""
WINDOW_RUNS: Final = 333
"""FORGETTING amounts to so many runs in full."""
LEAST_RUNS: Final = 200
"""Runs that were served before it may step in."""
ROOM: Final = 1.15
"""The guard steps in if learned sizes held more than so many times what the cheaper rule would have
held, in memory-time and for the usual run."""
HELD_RUNS: Final = 500
"""After so many runs the learned sizes are tried again, and counted anew."""
MOST_LOST: Final = 256
"""The most killed runs that are awaited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRun:
    """A run that Plimsoll sized, once its need is known.

    key: as its killed attempts have it. given_bytes: what its last attempt held.
    max_seen_bytes: what 1.1 × max-seen would have given it; None if no run was known.
    least_bytes: no size is below it, whatever decides.
    """

    key: str
    run: EndedRun
    given_bytes: float
    max_seen_bytes: float | None
    least_bytes: float = MIB


@dataclass(slots=True)
class Comparison:
    """What was served, compared with what one rule would have held; sums that fade.

    served, rule: GB·h. logs: sum of ln (served ÷ rule) over runs; weight: how many runs.
    """

    served: float = 0.0
    rule: float = 0.0
    logs: float = 0.0
    weight: float = 0.0

    def add(self, served: float, rule: float) -> None:
        """Forget a little of the past, and add a run."""
        self.served = self.served * FORGETTING + served
        self.rule = self.rule * FORGETTING + rule
        self.logs = self.logs * FORGETTING + math.log(served / rule)
        self.weight = self.weight * FORGETTING + 1

    @property
    def times(self) -> float:
        """The memory-time that was served over the rule's; 1 while there is none."""
        return self.served / self.rule if self.rule > 0 else 1.0

    @property
    def usual_times(self) -> float:
        """The same for the usual run: one large run makes much memory-time."""
        return math.exp(self.logs / self.weight) if self.weight > 0 else 1.0


@dataclass(slots=True)
class Lost:
    """What a run's killed attempts held. untimed_bytes: of those whose runtime nobody knows."""

    gb_h: float = 0.0
    untimed_bytes: float = 0.0


@dataclass(slots=True)
class Guard:
    """The guard of one task.

    runs: runs served since it began to count. max_seen, request: what was served, compared with
        what 1.1 × max-seen and the request would have held.
    left: runs until learned sizes are tried again, while it holds the task. since: why it stepped
        in.
    """

    runs: int = 0
    max_seen: Comparison = field(default_factory=Comparison)
    request: Comparison = field(default_factory=Comparison)
    lost: dict[str, Lost] = field(default_factory=dict)
    left: int = 0
    since: Guarded | None = None

    @property
    def guarded(self) -> Guarded | None:
        """The rule that the task follows now; None if its experts decide."""
        return self.since if self.left else None

    def killed(self, key: str, held_bytes: float, runtime_s: float | None) -> None:
        """Count an attempt that was killed; runtime_s: None counts as its run's."""
        lost = self.lost.setdefault(key, Lost())
        if runtime_s is None:
            lost.untimed_bytes += held_bytes
        else:
            lost.gb_h += gb_hours(held_bytes, max(runtime_s, SHORTEST_RUNTIME_S))
        while len(self.lost) > MOST_LOST:
            del self.lost[next(iter(self.lost))]

    def ended(self, served: ServedRun) -> None:
        """Count a run, and step in or step back."""
        run, lost = served.run, self.lost.pop(served.key, Lost())
        request_bytes, max_seen_bytes = run.request_bytes, served.max_seen_bytes
        known_bytes = max_seen_bytes or request_bytes
        if known_bytes is None:
            return  # no rule has a size for it either
        runtime_s = run.counted_s
        held_gb_h = lost.gb_h + gb_hours(served.given_bytes + lost.untimed_bytes, runtime_s)
        self.runs += 1
        for beside, rule_bytes in (
            (self.max_seen, known_bytes),
            (self.request, request_bytes or known_bytes),
        ):
            beside.add(
                held_gb_h,
                gb_hours(
                    _held_bytes(max(rule_bytes, served.least_bytes), run.need_bytes), runtime_s
                ),
            )
        if self.left:
            self._hold()
        elif self.runs >= LEAST_RUNS:
            self._judge()

    def _judge(self) -> None:
        name, beside = min(
            ((MAX_SEEN, self.max_seen), (REQUEST, self.request)), key=lambda each: each[1].rule
        )
        if min(beside.times, beside.usual_times) > ROOM:
            self.left = HELD_RUNS
            self.since = Guarded(name, round(beside.times, 2), min(self.runs, WINDOW_RUNS))

    def _hold(self) -> None:
        self.left -= 1
        if not self.left:
            self.runs, self.since = 0, None
            self.max_seen, self.request = Comparison(), Comparison()


def _held_bytes(first_bytes: float, need_bytes: float) -> float:
    """What all attempts would have held if the first had a size and each next one doubled it.

    A ladder that knows the largest need would use here what was unknown when the run was lifted.
    """
    allocation_bytes = held_bytes = first_bytes
    for _ in range(MOST_ATTEMPTS):
        if allocation_bytes >= need_bytes:
            break
        allocation_bytes *= GEOMETRIC_STEP
        held_bytes += allocation_bytes
    return held_bytes
