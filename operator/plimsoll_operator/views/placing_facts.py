"""How tasks slow each other, by finished runs, and what placing would have saved on them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from plimsoll_predictor.placing.interference import learned_from
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Matrix, Slowdown
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.telling import MOST_NAMED, Neighbour, Neighbours, neighbours_of
from plimsoll_predictor.replay.placing.past_queue import PastGains, gains_of_past, known_share


@dataclass(frozen=True, slots=True, eq=False)
class PlacingFacts:
    """What finished runs taught.

    runs: each kind -> its runs that taught something. gains: what placing would have saved on them;
    None if the data cannot tell, or if it was not asked for.
    """

    matrix: Matrix
    runs: Mapping[str, int]
    gains: PastGains | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are told apart, those with the most runs first."""
        apart = (kind for kind in self.matrix.kinds if kind != OTHERS)
        return tuple(sorted(apart, key=lambda kind: (-self.runs.get(kind, 0), kind)))

    @property
    def taught(self) -> int:
        """How many runs taught something."""
        return sum(self.runs.values())

    @property
    def any_known(self) -> bool:
        """Whether the slowdown of any pair of kinds is known."""
        return self.matrix.known_pairs > 0

    def slowdown(self, kind: str, neighbour: str) -> Slowdown:
        """The slowdown of one kind beside another."""
        return self.matrix.slowdown(kind, neighbour)

    def neighbours(self, kind: str, most: int = MOST_NAMED) -> Neighbours:
        """The best and the worst neighbours of a kind, at most ``most`` of each."""
        return neighbours_of(self.matrix, kind, most)

    def to_dict(self) -> dict[str, Any]:
        """All kinds in plain JSON types."""
        return {
            "runs": self.taught,
            "known_share": round(known_share(self.matrix), 4),
            "kinds": [self._kind_dict(kind) for kind in self.kinds],
            "matrix": [pair for kind in self.kinds for pair in self._pairs(kind, self.kinds)],
            "saving": None if self.gains is None else asdict(self.gains),
        }

    def task_dict(self, kind: str) -> dict[str, Any]:
        """One kind in plain JSON types: how it runs beside others, and they beside it."""
        return {
            **self._kind_dict(kind),
            "beside": list(self._pairs(kind, self.kinds)),
            "others_beside_it": [
                pair for other in self.kinds for pair in self._pairs(other, (kind,))
            ],
        }

    def _kind_dict(self, kind: str) -> dict[str, Any]:
        neighbours = self.neighbours(kind)
        return {
            "task": kind,
            "runs": self.runs.get(kind, 0),
            "best": [_beside_dict(each) for each in neighbours.best],
            "worst": [_beside_dict(each) for each in neighbours.worst],
        }

    def _pairs(self, kind: str, others: Sequence[str]) -> Iterator[dict[str, Any]]:
        for other in others:
            yield {"task": kind, "beside": other, **_slowdown_dict(self.slowdown(kind, other))}


def learned_facts(runs: Sequence[PlacedRun]) -> PlacingFacts:
    """What runs taught, oldest first. Cost: a fit of K kinds is K⁴ ÷ 3 steps, a dozen at most."""
    counts = Counter(run.kind for run in runs if run.encounter is not None)
    # With 50 unknowns, one thread solves a system faster than several threads synchronise.
    with threadpool_limits(limits=1, user_api="blas"):
        return PlacingFacts(learned_from(runs).matrix(), counts)


def facts_with_gains(runs: Sequence[PlacedRun]) -> PlacingFacts:
    """Also play the past again, which takes seconds for thousands of runs."""
    facts = learned_facts(runs)
    with threadpool_limits(limits=1, user_api="blas"):
        return PlacingFacts(facts.matrix, facts.runs, gains_of_past(runs, facts.matrix))


def _beside_dict(beside: Neighbour) -> dict[str, Any]:
    return {"task": beside.kind, **_slowdown_dict(beside.slowdown)}


def _slowdown_dict(slowdown: Slowdown) -> dict[str, Any]:
    return {
        "times": round(slowdown.times, 3),
        "low": round(slowdown.low, 3),
        "high": round(slowdown.high, 3),
        "known": bool(slowdown.known),
    }
