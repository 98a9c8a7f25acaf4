"""Makes a TaskProfile's status.

The result is a JSON merge patch: a field that no longer holds is None, which deletes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.conditions import (
    ConditionType,
    conditions_of,
    cut,
    read_conditions,
    timestamp,
)
from plimsoll_operator.names.quantity import format_bytes, format_millicores, quantity_or_none
from plimsoll_operator.profile.conditions import profile_conditions
from plimsoll_operator.profile.facts import ProfileFacts
from plimsoll_operator.profile.neighbour_status import neighbour_status
from plimsoll_operator.profile.phases import Phase, Progress, phase_of
from plimsoll_operator.profile.runtime_status import runtime_status
from plimsoll_operator.profile.splitting_status import splitting_status
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.profile.story import profile_story, serving
from plimsoll_operator.wording.budget_words import words_for_counts, words_for_spent
from plimsoll_operator.wording.cause_words import words_for_causes
from plimsoll_operator.wording.drift_words import DriftKind
from plimsoll_operator.wording.saving_words import saving_words
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds, decide_cpu
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.experts.panel import words_for_expert
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model

SHOWN_DECISIONS: Final = 10
MAX_DECISION: Final = 512
MAX_SENTENCES: Final = 12
"""An older definition takes no more, and may be installed: it would refuse the whole status."""
_CPU_FIELDS: Final = ("runs", "used", "peak", "request", "why")
_ROUNDED: Final = 4
"""Decimals of a figure. With more, small changes would cost patches."""


def status_of(
    facts: ProfileFacts, *, previous: Mapping[str, Any] | None = None, now_s: float
) -> dict[str, Any]:
    """Return the whole status.

    previous: the status now on the API server; conditions that do not change keep their times.
    now_s: Unix seconds, for conditions that change.
    """
    knowledge, old = facts.knowledge, previous or {}
    asked, given = facts.tally.requested_gb_h, facts.tally.allocated_gb_h
    return {
        "about": [cut(words, MAX_DECISION) for words in profile_story(facts)[:MAX_SENTENCES]],
        "task": knowledge.task.name,
        "phase": _phase(facts).value,
        "mode": knowledge.policy.mode.value,
        "observations": facts.tally.observations,
        "runs": knowledge.runs,
        "oomKills": facts.tally.oom_kills,
        "causes": words_for_causes(facts.causes) or None,
        "maxNeed": quantity_or_none(knowledge.max_need_bytes, words_for_bytes),
        "reached": quantity_or_none(knowledge.shown.floor_bytes or None, words_for_bytes),
        "champion": serving(knowledge),
        "championWords": words_for_expert(serving(knowledge)),
        "expertCosts": _costs(facts.standing, old.get("expertCosts")),
        "cpu": cpu_status_of(knowledge),
        "runtime": runtime_status(facts.runtime),
        "neighbours": neighbour_status(knowledge.task, facts.neighbours),
        "splitting": splitting_status(facts.splitting),
        "savedGbH": _rounded(asked - given) if asked > 0 else None,
        "saved": saving_words(asked, given) if asked > 0 else None,
        "lately": _lately(facts.standing),
        "guarded": knowledge.guarded.words if knowledge.guarded else None,
        "killedBelowRequest": _killed_below_request(facts),
        "asks": facts.asks,
        **_would_fields(facts),
        **_model_fields(serving(knowledge), knowledge.model),
        "trainingDueTime": None if facts.due_since_s is None else timestamp(facts.due_since_s),
        "lastDecisions": [cut(words, MAX_DECISION) for words in facts.decisions[:SHOWN_DECISIONS]],
        "observedGeneration": facts.generation,
        "conditions": conditions_of(profile_conditions(facts), old.get("conditions"), now_s),
    }


def changed(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    """Say whether patching ``new`` over ``old`` would change anything; None counts as absent."""
    return bool(_without_nones(old or {}) != _without_nones(new))


def newly_shifted(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    """Say whether ``new`` reports a shift of level that ``old`` did not."""
    drifting, before = _drifting(new), _drifting(old or {})
    is_level = drifting.get("reason") == DriftKind.LEVEL.value
    return is_level and before.get("message") != drifting.get("message")


def _drifting(status: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = read_conditions(status.get("conditions"))
    return next((one for one in conditions if one.get("type") == ConditionType.DRIFTING), {})


def _without_nones(value: Any) -> Any:
    if isinstance(value, Mapping):
        cleaned = {key: _without_nones(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in cleaned.items() if item != {}}
    if isinstance(value, list | tuple):
        return [_without_nones(item) for item in value]
    return value


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, _ROUNDED)


def _phase(facts: ProfileFacts) -> Phase:
    knowledge = facts.knowledge
    return phase_of(
        Progress(
            runs=knowledge.runs,
            min_runs=knowledge.policy.min_runs,
            champion=knowledge.champion,
            trained=knowledge.model is not None,
            leaking=facts.leaking is not None,
            young=facts.standing is None or facts.standing.young,
            paused=facts.paused or knowledge.policy.mode is Mode.OFF,
        )
    )


def _killed_below_request(facts: ProfileFacts) -> dict[str, Any] | None:
    """Return how many runs were killed below their request; None before the first run.

    If there is an error budget, say how much of it that is.
    """
    if facts.standing is None:
        return None
    spent, budget = facts.standing.spent, facts.knowledge.policy.error_budget
    return {
        "text": words_for_spent(spent, facts.standing.kill_causes, budget) or None,
        "killed": spent.killed,
        "ofRuns": spent.runs,
        "causes": words_for_counts(facts.standing.kill_causes) or None,
        "allowed": None if budget is None else spent.allowed(budget),
        "spentShare": None if budget is None else _rounded(spent.share_of(budget)),
    }


def _lately(standing: StandingFacts | None) -> dict[str, float | None] | None:
    """Return what sizes held, and what requests would have held; None before a run was sized."""
    if standing is None or standing.lately.rule <= 0:
        return None
    return {
        "heldGbH": _rounded(standing.lately.served),
        "askedGbH": _rounded(standing.lately.rule),
    }


def _would_fields(facts: ProfileFacts) -> dict[str, Any]:
    """Return the result that enforcing would have had; None unless runs were recommended."""
    would = facts.standing.would if facts.standing else Would()
    if facts.knowledge.policy.mode is not Mode.RECOMMEND or not would.runs:
        sums = ("wouldRuns", "wouldSave", "wouldSaveGbH", "wouldAskedGbH")
        return dict.fromkeys((*sums, "wouldKill", "wouldKillShare"))
    return {
        "wouldRuns": would.runs,
        "wouldSave": saving_words(would.asked_gb_h, would.decided_gb_h),
        "wouldSaveGbH": _rounded(would.saved_gb_h),
        "wouldAskedGbH": _rounded(would.asked_gb_h),
        "wouldKill": would.killed,
        "wouldKillShare": _rounded(would.killed / would.runs),
    }


def _costs(standing: StandingFacts | None, shown: object) -> dict[str, float | None] | None:
    """Return each expert's cost divided by the champion's.

    It is rounded: with more digits the status would change after every run.
    shown: the costs in the previous status; an expert that left is deleted.
    """
    if standing is None:
        return None
    before = dict.fromkeys(shown) if isinstance(shown, Mapping) else {}
    # JSON has no word for what is not finite, and such a figure differs from itself at each look.
    finite = {name: times for name, times in standing.times.items() if math.isfinite(times)}
    return {**before, **{name: round(times, 2) for name, times in finite.items()}}


def _model_fields(champion: str, model: Model | None) -> dict[str, Any]:
    if model is None:
        absent = ("bins", "binsText", "uScore", "accuracy", "modelVersion", "trainedTime")
        return {"model": champion, **dict.fromkeys(absent)}
    serves = champion in (CLASSIFIER, BOOSTING)
    ceilings = model.bins.ceilings_bytes
    return {
        "model": f"{champion} {model.version}" if serves else champion,
        "modelVersion": model.version,
        "trainedTime": timestamp(model.trained_s),
        "bins": [
            {"ceiling": format_bytes(ceiling), "count": count}
            for ceiling, count in zip(ceilings, model.bins.counts, strict=True)
        ],
        "binsText": " ".join(words_for_bytes(ceiling) for ceiling in ceilings),
        "uScore": _rounded(model.metrics.u_score),
        "accuracy": _rounded(model.metrics.accuracy),
    }


def cpu_status_of(knowledge: Knowledge) -> dict[str, Any]:
    """Return ``status.cpu``. The request is for a pod that asks for nothing, without bounds."""
    mode = knowledge.policy.cpu.mode if knowledge.policy.mode is not Mode.OFF else Mode.OFF
    use = knowledge.cpu
    if use is None or mode is Mode.OFF:
        return {"mode": mode.value, **dict.fromkeys(_CPU_FIELDS)}
    decision = decide_cpu(CpuAsk(None), use, knowledge.policy, CpuBounds())
    return {
        "mode": mode.value,
        "runs": use.runs,
        "used": _quantity(use.high_cores),
        "peak": None if use.peak_cores is None else _quantity(use.peak_cores),
        "request": quantity_or_none(decision.request_millicores, format_millicores),
        "why": decision.why,
    }


def _quantity(cores: float) -> str:
    return format_millicores(round(cores * 1000))
