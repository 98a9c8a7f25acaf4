"""The demo's figures: what was asked for, allocated and used. Pure.

All in GB·h, 1 GB = 1e9 bytes. Asked: the request times the runtime of the attempt that succeeded,
which is what its author would have held. Allocated: each attempt's limit times its runtime, killed
ones included. Peaked: the measured peak times the runtime of the attempt that succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from demo.runs.plan import REQUEST_BYTES
from demo.watching.watch import AttemptState, RunState, RunView

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import gb_hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Some runs, added up.

    unmeasured: runs that succeeded without a measured peak; they are missing in peak_gb_h.
    """

    runs: int
    attempts: int
    oom_kills: int
    lifted_then_succeeded: int
    failed_runs: int
    first_attempts_fit: int
    unmeasured: int
    requested_gb_h: float
    allocated_gb_h: float
    peak_gb_h: float

    @property
    def retries(self) -> int:
        """Attempts after a run's first."""
        return self.attempts - self.runs


@dataclass(frozen=True, slots=True)
class Learned:
    """The content of a task's TaskProfile. Fields are None, bins empty, if there is no model."""

    champion: str
    bins: tuple[Mapping[str, int], ...]
    u_score: float | None
    accuracy: float | None
    version: str | None


def figures(views: Sequence[RunView], peaks: Mapping[str, int]) -> Figures:
    """Add up these runs.

    peaks: pod UID -> measured peak in bytes; attempts without a measurement are absent.
    """
    done = [view.success for view in views if view.success is not None]
    attempts = [attempt for view in views for attempt in view.attempts]
    return Figures(
        runs=len(views),
        attempts=len(attempts),
        oom_kills=sum(view.kills for view in views),
        lifted_then_succeeded=sum(view.kills > 0 and view.success is not None for view in views),
        failed_runs=sum(view.state is not RunState.SUCCEEDED for view in views),
        first_attempts_fit=sum(_fitted_at_first(view) for view in views),
        unmeasured=sum(attempt.uid not in peaks for attempt in done),
        requested_gb_h=sum(gb_hours(REQUEST_BYTES, each.runtime_s) for each in done),
        allocated_gb_h=sum(gb_hours(each.allocation_bytes, each.runtime_s) for each in attempts),
        peak_gb_h=sum(gb_hours(peaks.get(each.uid, 0), each.runtime_s) for each in done),
    )


def _fitted_at_first(view: RunView) -> bool:
    return bool(view.attempts) and view.attempts[0].state is AttemptState.SUCCEEDED


def by_task(views: Sequence[RunView], peaks: Mapping[str, int]) -> dict[str, Figures]:
    """Each task's figures, by its ``namespace/name``."""
    tasks = sorted({view.run.task for view in views}, reverse=True)
    return {
        task: figures([view for view in views if view.run.task == task], peaks) for task in tasks
    }


def learned(profiles: Iterable[Mapping[str, Any]]) -> dict[str, Learned]:
    """What was learned of each task, from TaskProfile objects."""
    found = {}
    for profile in profiles:
        status = profile.get("status") or {}
        name = status.get("task") or profile["metadata"]["name"]
        found[f"{profile['metadata']['namespace']}/{name}"] = Learned(
            champion=status.get("champion") or "request",
            bins=tuple(
                {"ceiling_bytes": parse_bytes(each["ceiling"]), "runs": each["count"]}
                for each in status.get("bins") or []
            ),
            u_score=status.get("uScore"),
            accuracy=status.get("accuracy"),
            version=status.get("modelVersion"),
        )
    return found


def summary(total: Figures, known: Mapping[str, Learned]) -> dict[str, Any]:
    """The content of demo-summary.json; bins, champion, u_score and accuracy are keyed by task."""
    counts = asdict(total)
    fitted, _ = counts.pop("first_attempts_fit"), counts.pop("unmeasured")
    return {
        **{name: _rounded(value) for name, value in counts.items()},
        "first_attempt_fit_rate": _rounded(fitted / total.runs) if total.runs else None,
        "bins": {task: list(each.bins) for task, each in known.items()},
        "champion": {task: each.champion for task, each in known.items()},
        "u_score": {task: each.u_score for task, each in known.items()},
        "accuracy": {task: each.accuracy for task, each in known.items()},
    }


def _rounded(value: float) -> float:
    return round(value, 4)


def complaints(views: Sequence[RunView]) -> list[str]:
    """Runs that did not end well, one sentence each. Empty if all is well."""
    return [
        f"{view.run.task}: run {view.run.name} ended {view.state.value} after "
        f"{len(view.attempts)} attempts, {view.kills} of them OOM-killed"
        for view in views
        if view.state is not RunState.SUCCEEDED
    ]
