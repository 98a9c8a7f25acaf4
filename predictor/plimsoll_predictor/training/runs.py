"""From observations of attempts to what is learned from: one row per run, in time order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.record import Features, Need, Observation

CENSORED_FACTOR: Final = 1.5
"""A run that was only ever OOM-killed counts as needing this much more than it is known to
exceed, until it succeeds: between a lift's least useful step and its doubling."""
LONGEST_RUNTIME_S: Final = 1e9
"""Thirty years; a longer runtime is a broken clock and counts as unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run with what it teaches.

    need_bytes: above zero; what it is assumed to be where censored.
    exceeds_bytes: what a censored need is known to exceed; None if the need is known.
    runtime_s, request_bytes, at_s: None where nobody said. at_s is Unix time.
    """

    key: str
    features: Features
    need_bytes: float
    exceeds_bytes: int | None
    runtime_s: float | None
    request_bytes: int | None
    at_s: float | None

    @property
    def censored(self) -> bool:
        """Whether the need was never seen, only exceeded."""
        return self.exceeds_bytes is not None


def runs_of(observations: Iterable[Observation], *, latest: int) -> list[Run]:
    """Runs whose need is known or bounded, oldest first, at most the ``latest`` ones.

    The need of an attempt that succeeded supersedes its run's OOM kills. Attempts that failed or
    were evicted, and peaks of zero, teach nothing. A run without any time counts as oldest.
    """
    attempts: dict[str, list[Observation]] = {}
    for observation in observations:
        if _teaches(observation.need):
            attempts.setdefault(observation.run, []).append(observation)
    runs = [_run(key, known) for key, known in attempts.items()]
    runs.sort(key=lambda run: -math.inf if run.at_s is None else run.at_s)
    return runs[-latest:]


def _teaches(need: Need | None) -> bool:
    return need is not None and need.size_bytes > 0


def _run(key: str, attempts: Sequence[Observation]) -> Run:
    need, decisive = max(
        ((attempt.need, attempt) for attempt in attempts if attempt.need is not None),
        key=lambda pair: (not pair[0].censored, pair[0].size_bytes),
    )
    requests = (attempt.request_bytes for attempt in attempts)
    return Run(
        key=key,
        features=decisive.features,
        need_bytes=need.size_bytes * (CENSORED_FACTOR if need.censored else 1.0),
        exceeds_bytes=need.size_bytes if need.censored else None,
        runtime_s=_plausible_runtime_s(decisive.runtime_s),
        request_bytes=next((request for request in requests if request), None),
        at_s=_first_finite(decisive.submitted_s, decisive.started_s, decisive.finished_s),
    )


def _plausible_runtime_s(runtime_s: float | None) -> float | None:
    if runtime_s is None or not 0 <= runtime_s <= LONGEST_RUNTIME_S:
        return None
    return runtime_s


def _first_finite(*times_s: float | None) -> float | None:
    return next((time for time in times_s if time is not None and math.isfinite(time)), None)
