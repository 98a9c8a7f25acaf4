"""What `plimsoll explain` tells of a task. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.profile.standing_facts import ExpertFacts, StandingFacts
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_operator.views.counterfactuals import Outlook
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import DecisionRecord, TaskSummary

_WRITTEN_ONLY: Final = "would be →"
"""How a decision's words say that nothing was changed; controller/announcer.py writes them."""
_BY_REASON: Final = {
    Reason.COLD_START: "its policy's minRuns: until so many runs are known, the request is kept",
    Reason.OFF: "its mode: sizing is switched off; set recommend or enforce",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The usual run: what it asks for, and the names of what is known before it starts."""

    request_bytes: int | None
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodDecision:
    """A pod that was asked about; note: None if nothing was decided of it."""

    name: str
    note: DecisionNote | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Who decides a task's sizes, and why.

    standing: None before its first run, and of a store that no controller with experts has served.
    decisions: newest first. pod: the one asked about; None if the task was.
    outlook: what its next run would get, and what would change that; None if nobody worked it out.
    """

    task: TaskId
    summary: TaskSummary
    asked: Asked
    standing: StandingFacts | None
    decisions: tuple[DecisionRecord, ...]
    pod: PodDecision | None = None
    outlook: Outlook | None = None

    @property
    def would_change(self) -> tuple[str, ...]:
        """What would make its sizes others, in words."""
        said: list[str] = list(self.standing.would_change) if self.standing else []
        if self.outlook is not None and self.outlook.applied is not None:
            said.insert(0, self.outlook.applied)
        if self.standing is None and self.summary.runs_known:
            said.append("its runs of before: the controller takes them up within seconds")
        elif self.standing is None:
            said.append("the first run whose memory is measured: until then the request is kept")
        latest = self.decisions[0] if self.decisions else None
        if self.outlook is None and latest is not None and _WRITTEN_ONLY in latest.words:
            said.append("its mode: recommend only writes sizes down; set enforce to apply them")
        if self.outlook is None and latest is not None:
            said += [words for reason, words in _BY_REASON.items() if latest.reason == reason.value]
        if self.standing and self.standing.drift.drifting:
            said.append("more runs: it has changed of late, and few are known since")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        standing = self.standing
        return {
            "task": str(self.task),
            "known_runs": self.summary.runs_known,
            "oom_kills": self.summary.oom_kills,
            "largest_need_bytes": self.summary.max_need_bytes,
            "usual_request_bytes": self.asked.request_bytes,
            "features": list(self.asked.features),
            "champion": standing.champion if standing else None,
            "why": standing.why if standing else None,
            "counting_runs": standing.runs if standing else None,
            "young": standing.young if standing else None,
            "experts": [_expert(each) for each in standing.experts] if standing else [],
            "drift": _drift(standing) if standing else None,
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


def _drift(standing: StandingFacts) -> dict[str, Any]:
    drift = standing.drift
    return {"change": drift.change.value, "words": drift.words, "shifts": drift.shifts}


def _pod(pod: PodDecision) -> dict[str, Any]:
    note = pod.note
    if note is None:
        return {"name": pod.name, "decided": False}
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
