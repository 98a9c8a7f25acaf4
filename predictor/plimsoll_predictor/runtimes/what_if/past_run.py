"""A past run for a what-if: its runtime, and the conditions that it ran under."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll_predictor.core.record import Observation, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run that succeeded. A field that was not recorded is None.

    runtime_s: 0 where a clock of whole seconds counted none.
    submitted_s: Unix seconds, or any clock that all runs of an estimate share.
    node_load, cluster_load: share of the allocatable resources in use at its start; above 1 if more
        was in use than counted.
    memory_request_bytes, memory_limit_bytes, request_cores, limit_cores: the fields of its pod;
        also None if a pod had none.
    attempt: 1 for a run's first pod. Later ones got more memory because the run needed it.

    Raises:
        ValueError: for a time that is not a finite number, or a runtime below zero.
    """

    runtime_s: float
    submitted_s: float
    node_type: str | None = None
    node_load: float | None = None
    cluster_load: float | None = None
    allocation_bytes: int | None = None
    memory_request_bytes: int | None = None
    memory_limit_bytes: int | None = None
    request_cores: float | None = None
    limit_cores: float | None = None
    attempt: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.runtime_s < math.inf:
            raise ValueError(
                f"a past run's runtime_s is {self.runtime_s!r}; leave out runs without a runtime"
            )
        if not math.isfinite(self.submitted_s):
            raise ValueError(
                f"a past run's submitted_s is {self.submitted_s!r}; leave out runs without a time"
            )

    @property
    def limit_equals_request(self) -> bool | None:
        """Whether it could not use more than it requested; None if that was not recorded.

        A pod may burst in a resource that has a request and either no limit or a higher one.
        """
        pairs = (
            (self.memory_request_bytes, self.memory_limit_bytes),
            (self.request_cores, self.limit_cores),
        )
        asked = [limit == request for request, limit in pairs if request is not None]
        return all(asked) if asked else None


def of_observations(observations: Iterable[Observation]) -> list[PastRun]:
    """The attempts that succeeded, with a known runtime and a known time.

    Loads are the CPU's, which runs share, or the memory's if CPU was not counted.
    """
    return [
        _of_observation(observation, runtime_s, submitted_s)
        for observation in observations
        if observation.outcome is Outcome.SUCCEEDED
        and (runtime_s := observation.runtime_s) is not None
        and (submitted_s := observation.submitted_s or observation.started_s) is not None
    ]


def _of_observation(run: Observation, runtime_s: float, submitted_s: float) -> PastRun:
    # An observation without the request says nothing about the CPU limit either: None does not mean
    # that there was no limit.
    has_request = run.request_memory_ran_bytes is not None
    return PastRun(
        runtime_s=runtime_s,
        submitted_s=submitted_s,
        node_type=run.node_type,
        node_load=_first(run.node_cpu_share, run.node_memory_share),
        cluster_load=_first(run.cluster_cpu_share, run.cluster_memory_share),
        allocation_bytes=run.allocation_bytes,
        memory_request_bytes=run.request_memory_ran_bytes,
        memory_limit_bytes=run.allocation_bytes if has_request else None,
        request_cores=run.allocated_cores if has_request else None,
        limit_cores=run.limit_cores if has_request else None,
        attempt=run.attempt,
    )


def _first(*loads: float | None) -> float | None:
    return next((load for load in loads if load is not None), None)
