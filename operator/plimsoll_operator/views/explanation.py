"""The explanation of a task that `plimsoll explain` prints. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from plimsoll_operator.profile.standing_facts import ExpertFacts, StandingFacts
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_operator.views.counterfactuals import Outlook
from plimsoll_operator.views.left_pods import left_by
from plimsoll_operator.wording.price_words import FailurePrice
from plimsoll_predictor.core.decision import Ask, Reason
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import DecisionRecord, TaskSummary

_WRITTEN_ONLY: Final = "would be →"
"""Stands in a decision's words if nothing was changed; the controller's announcer writes it."""
_LEFT: Final = (
    "who else sets its memory: Plimsoll steps back for a VerticalPodAutoscaler (set its updateMode"
    " to Off) and for a webhook that changes what Plimsoll sets"
)
_SOME_ENDS: Final = 3
"""So many attempts that were all deleted are no chance."""
_DELETED: Final = (
    "ends of its pods' own: its latest attempts were all deleted before they ended, and that"
    " teaches no need. Engines that delete their pods are Spark (its executors keep their end with"
    " spark.kubernetes.executor.deleteOnTermination=false), Ray and the MPI Operator"
)
_BY_REASON: Final[Mapping[str, str]] = {
    Reason.COLD_START: "its policy's minRuns: until so many runs are known, the request is kept",
    Reason.OFF: "its mode: sizing is switched off; set recommend or enforce",
}


@dataclass(frozen=True, slots=True)
class PodDecision:
    """A pod that was asked about.

    note: None if nothing was decided for it. unsizable: why no container of it can be sized, in
    words; None if one can.
    """

    name: str
    note: DecisionNote | None
    unsizable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Tells which expert or rule decides a task's sizes, and why.

    ask: the usual run's, or that of the pod that was asked about.
    standing: None before its first run, or if no controller with experts has served the store.
    decisions: newest first. pod: the one asked about; None if the task was asked about.
    outlook: the size of its next run, and what would change that; None if it was not computed.
    causes: why its latest unsuccessful attempts ended, newest first.
    reached_bytes: what running attempts have reached beyond all that ended; 0 if nothing.
    burst: words for a burst, when many of its runs fail now; empty without one.
    """

    task: TaskId
    summary: TaskSummary
    ask: Ask
    standing: StandingFacts | None
    decisions: tuple[DecisionRecord, ...]
    pod: PodDecision | None = None
    outlook: Outlook | None = None
    causes: tuple[Cause, ...] = ()
    reached_bytes: int = 0
    burst: str = ""

    @property
    def left(self) -> str | None:
        """Say who sets the memory of its latest pod instead of Plimsoll; None if nobody does."""
        return left_by(self.decisions)

    @property
    def would_change(self) -> tuple[str, ...]:
        """Name the changes that would give it other sizes."""
        reasons = [_LEFT] if self.left else []
        reasons += self.standing.would_change if self.standing else []
        if self.outlook is not None and self.outlook.applied is not None:
            reasons.insert(0, self.outlook.applied)
        reasons += self._unlearned
        latest = self.decisions[0] if self.decisions else None
        if self.outlook is None and latest is not None:
            if _WRITTEN_ONLY in latest.words:
                words = "its mode: recommend only writes sizes down; set enforce to apply them"
                reasons.append(words)
            if latest.reason in _BY_REASON:
                reasons.append(_BY_REASON[latest.reason])
        if self.standing and self.standing.drift.drifting:
            reasons.append("more runs: it has changed of late, and few are known since")
        return tuple(reasons)

    @property
    def _unlearned(self) -> list[str]:
        """Name what its experts still have to learn from."""
        if self.standing is None and self.summary.runs_known:
            return ["its earlier runs: a controller with this store learns from them in seconds"]
        some = len(self.causes) >= _SOME_ENDS and not self.summary.runs_known
        if some and set(self.causes) == {Cause.DELETED}:
            return [_DELETED]
        if self.standing is None:
            return ["the first run whose memory is measured: until then sizes follow the request"]
        return []

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        standing = self.standing
        return {
            "task": str(self.task),
            "known_runs": self.summary.runs_known,
            "oom_kills": self.summary.oom_kills,
            "causes": dict(Counter(each.value for each in self.causes).most_common()),
            "largest_need_bytes": self.summary.max_need_bytes,
            "usual_request_bytes": self.ask.request_bytes,
            "features": sorted(self.ask.features),
            "champion": standing.champion if standing else None,
            "why": standing.why if standing else None,
            "follows": (standing.follows or None) if standing else None,
            "guarded": standing.guarded.words if standing and standing.guarded else None,
            "reached_bytes": self.reached_bytes or None,
            "burst": self.burst or None,
            "counting_runs": standing.runs if standing else None,
            "young": standing.young if standing else None,
            "experts": [_expert(each) for each in standing.experts] if standing else [],
            "drift": asdict(standing.drift) if standing else None,
            "floor": (standing.floor or None) if standing else None,
            "failure_price": _price(standing.price) if standing and standing.price else None,
            "would_change": list(self.would_change),
            "decisions": [
                {
                    "at_s": each.at_s,
                    "words": each.words,
                    "reason": each.reason,
                    "allocation_bytes": each.allocation_bytes,
                    "request_bytes": each.request_bytes,
                }
                for each in self.decisions
            ],
            "left": self.left,
            "now": self.outlook.to_dict() if self.outlook else None,
            "pod": _pod(self.pod) if self.pod else None,
        }


def _expert(each: ExpertFacts) -> dict[str, Any]:
    return {
        "name": each.name,
        "words": each.words,
        "serves": each.serves,
        "eligible": each.eligible,
        "bid_bytes": None if each.bid_bytes is None else round(each.bid_bytes),
        "cost_in_runs": each.cost,
        "times_champion": each.times,
    }


def _price(price: FailurePrice) -> dict[str, Any]:
    return {
        "price_s": price.price_s,
        "restart_s": price.restart_s,
        "restarts": price.restarts,
        "measured": price.measured,
        "words": price.words,
    }


def _pod(pod: PodDecision) -> dict[str, Any]:
    note = pod.note
    if note is None:
        return {"name": pod.name, "decided": False, "why": pod.unsizable}
    return {
        "name": pod.name,
        "decided": True,
        "attempt": note.attempt,
        "mode": note.mode.value,
        "reason": note.reason.value,
        "why": note.why,
        "allocation_bytes": note.allocation_bytes,
        "request_bytes": note.was_request_bytes,
        "model": note.model,
    }
