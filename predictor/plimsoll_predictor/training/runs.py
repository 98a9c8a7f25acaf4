"""From observations of attempts to the runs that are learned from, in time order, as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Features, Observation
from plimsoll_predictor.deciding.memory import SHOWN_BY_KILLS
from plimsoll_predictor.model.bins import BinLimits

CENSORED_FACTOR: Final = 1.5
"""A run that was only ever OOM-killed counts as needing this much more than it is known to
exceed, until it succeeds: between a lift's least useful step and its doubling."""
LONGEST_RUNTIME_S: Final = 1e9
"""Thirty years; a longer runtime is a broken clock and counts as unknown."""
UNKNOWN_RUNTIME_S: Final = 60.0
"""The runtime of every run where none is known, so that all count alike."""
SHORTEST_RUNTIME_S: Final = 0.5
"""Kubernetes gives times in whole seconds: a runtime of zero is somewhere below one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run that a training learns from.

    need_bytes: above zero; an assumption where it is censored, and then maybe less than it exceeds.
    exceeds_bytes: the allocation that a censored need exceeded; None if the need is known.
    runtime_s, request_bytes: None if not recorded.
    limit_bytes: as its author wrote it; None if there was none, or nobody said.
    at_s: when it was made. decided_s: when its first attempt started, up to which its size may
        change. ended_s: when its need became known. Unix time; None if not recorded.
    """

    key: str
    features: Features
    need_bytes: float
    exceeds_bytes: int | None
    runtime_s: float | None
    request_bytes: int | None
    at_s: float | None
    decided_s: float | None = None
    ended_s: float | None = None
    limit_bytes: int | None = None

    @property
    def censored(self) -> bool:
        """Whether the need was never seen, only exceeded."""
        return self.exceeds_bytes is not None


def runs_of(observations: Iterable[Observation], *, latest: int) -> list[Run]:
    """Runs whose need is known or bounded, oldest first, at most the ``latest`` ones.

    The need of an attempt that succeeded supersedes its run's OOM kills. Attempts that failed or
    were evicted, and peaks of zero, teach nothing. A run without any time counts as oldest.
    A need that only kills show counts as far as a first size would believe it.
    """
    attempts: dict[str, list[Observation]] = {}
    for observation in observations:
        if observation.need is not None and observation.need.size_bytes > 0:
            attempts.setdefault(observation.run, []).append(observation)
    runs = [_run(key, of_run) for key, of_run in attempts.items()]
    runs.sort(key=lambda run: -math.inf if run.at_s is None else run.at_s)
    sufficed_bytes = max((run.need_bytes for run in runs if not run.censored), default=0.0)
    return [_believed(run, sufficed_bytes) for run in runs[-latest:]]


@dataclass(frozen=True, slots=True, eq=False)
class RunRows:
    """Runs in time order; all arrays (n,).

    runtimes_s: above zero; the median of the known ones where unknown.
    requests_bytes: the median of the known ones where unknown; None if no run asked for anything.
    """

    runs: Sequence[Run]
    needs_bytes: NDArray[np.float64]
    runtimes_s: NDArray[np.float64]
    requests_bytes: NDArray[np.float64] | None

    @classmethod
    def of(cls, runs: Sequence[Run]) -> RunRows:
        """The rows of at least one run."""
        runtimes = _filled([run.runtime_s for run in runs])
        if runtimes is None:
            runtimes = np.full(len(runs), UNKNOWN_RUNTIME_S)
        return cls(
            runs=runs,
            needs_bytes=np.asarray([run.need_bytes for run in runs], dtype=np.float64),
            runtimes_s=np.where(runtimes > 0, runtimes, SHORTEST_RUNTIME_S),
            requests_bytes=_filled([run.request_bytes for run in runs]),
        )

    @property
    def features(self) -> list[Features]:
        """Each run's features."""
        return [run.features for run in self.runs]

    @property
    def decided_s(self) -> NDArray[np.float64]:
        """When the runs were decided, (n,); infinite if unknown: all earlier runs count then."""
        return np.array([math.inf if run.decided_s is None else run.decided_s for run in self.runs])

    @property
    def ended_s(self) -> NDArray[np.float64]:
        """When their needs became known, (n,); minus infinity if unknown: at once."""
        return np.array([-math.inf if run.ended_s is None else run.ended_s for run in self.runs])

    def reference_bytes(self, headroom: float) -> float:
        """The user's request: the median one, or else the largest need with headroom."""
        if self.requests_bytes is not None:
            return float(np.median(self.requests_bytes))
        return float(self.needs_bytes.max()) * headroom

    def limits(self, policy: Policy) -> BinLimits:
        """The limits of a search for these runs' bins."""
        return BinLimits(
            reference_bytes=self.reference_bytes(policy.headroom),
            max_bins=policy.max_bins,
            headroom=policy.headroom,
            floor_bytes=policy.min_bytes,
        )

    def part(self, places: NDArray[np.int64]) -> RunRows:
        """Some of the runs; what was filled in is filled in from these alone."""
        return RunRows.of([self.runs[place] for place in places])


def _run(key: str, attempts: Sequence[Observation]) -> Run:
    need, decisive = max(
        ((attempt.need, attempt) for attempt in attempts if attempt.need is not None),
        key=lambda pair: (not pair[0].censored, pair[0].size_bytes),
    )
    requests = (attempt.request_bytes for attempt in attempts)
    is_plausible = decisive.runtime_s is not None and 0 <= decisive.runtime_s <= LONGEST_RUNTIME_S
    starts_s = (_first_time(each.started_s, each.submitted_s) for each in attempts)
    return Run(
        key=key,
        features=decisive.features,
        need_bytes=need.size_bytes * (CENSORED_FACTOR if need.censored else 1.0),
        exceeds_bytes=need.size_bytes if need.censored else None,
        runtime_s=decisive.runtime_s if is_plausible else None,
        request_bytes=next((request for request in requests if request), None),
        limit_bytes=max(each.written_limit_bytes or 0 for each in attempts) or None,
        at_s=_first_time(decisive.submitted_s, decisive.started_s, decisive.finished_s),
        decided_s=min((at_s for at_s in starts_s if at_s is not None), default=None),
        ended_s=_first_time(decisive.finished_s),
    )


def _believed(run: Run, sufficed_bytes: float) -> Run:
    """The run, with a need that only kills show bounded as in ``deciding``.

    A leak is killed at any size: the ceilings would follow it.
    """
    if not run.censored or run.request_bytes is None:
        return run
    known_bytes = max(run.request_bytes, run.limit_bytes or 0, sufficed_bytes)
    return replace(run, need_bytes=min(run.need_bytes, SHOWN_BY_KILLS * known_bytes))


def _first_time(*times_s: float | None) -> float | None:
    return next((at_s for at_s in times_s if at_s is not None and math.isfinite(at_s)), None)


def _filled(values: Sequence[float | None]) -> NDArray[np.float64] | None:
    numbers = np.asarray([np.nan if v is None else v for v in values], dtype=np.float64)
    present = numbers[~np.isnan(numbers)]
    return np.where(np.isnan(numbers), np.median(present), numbers) if present.size else None
