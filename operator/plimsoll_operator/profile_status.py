"""What a TaskProfile's status says. Pure: facts go in, the status comes out.

The result is meant for a JSON merge patch: a field that no longer holds is None, which deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from plimsoll_operator.conditions import Condition, Verdict, conditions_of, cut, timestamp
from plimsoll_operator.cpu_status import cpu_status_of
from plimsoll_operator.drift_words import STEADY, Change, DriftFacts
from plimsoll_operator.figure_words import words_for_gb_h, words_for_share
from plimsoll_operator.profile_phases import Phase, Progress, phase_of
from plimsoll_operator.quantity import format_bytes
from plimsoll_operator.standing_facts import StandingFacts
from plimsoll_predictor.experts.names import CLASSIFIER, REQUEST, words_for_expert
from plimsoll_predictor.knowledge import Knowledge
from plimsoll_predictor.model import Model
from plimsoll_predictor.policy import Mode
from plimsoll_predictor.record import PeakSource
from plimsoll_predictor.units import words_for_bytes

DRIFTING: Final = "Drifting"
MAX_DECISIONS: Final = 10
MAX_DECISION: Final = 512
_ROUNDED: Final = 4
"""Digits kept of a figure: a status that trembles is patched for nothing."""


class Tally(Protocol):
    """Counts and sums of a task; plimsoll_predictor.store.TaskSummary is one."""

    @property
    def observations(self) -> int:
        """Attempts observed."""

    @property
    def oom_kills(self) -> int:
        """Attempts killed for want of memory."""

    @property
    def requested_gb_h(self) -> float:
        """Memory-time asked for."""

    @property
    def allocated_gb_h(self) -> float:
        """Memory-time allocated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFact:
    """How the last training ended.

    failure: why it failed; None if it made a model. note: such as that its budget cut it short.
    """

    at_s: float
    failure: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Where the last successful attempt's peak came from; source None: nobody measured it."""

    source: PeakSource | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """All a status is made of.

    decisions: newest first, in words. training, measurement: None before the first.
    standing: its experts; None before its first run.
    leaking: why the task is left alone; None if it is not.
    problems: fields of policies that had to be ignored. trouble: what ails the store.
    generation: of the TaskProfile that was read.
    """

    knowledge: Knowledge
    tally: Tally
    decisions: Sequence[str] = ()
    training: TrainingFact | None = None
    standing: StandingFacts | None = None
    measurement: Measurement | None = None
    leaking: str | None = None
    problems: Sequence[str] = ()
    trouble: str | None = None
    generation: int | None = None


def status_of(
    facts: ProfileFacts, *, previous: Mapping[str, Any] | None = None, now_s: float
) -> dict[str, Any]:
    """The whole status.

    previous: the status now on the API server; its conditions keep their times where they stay.
    now_s: Unix seconds, for conditions that flip.
    """
    known = facts.knowledge
    asked, given = facts.tally.requested_gb_h, facts.tally.allocated_gb_h
    saved = f"{words_for_share(asked - given, asked)} ({words_for_gb_h(asked - given)})"
    return {
        "task": known.task.name,
        "phase": _phase(facts).value,
        "mode": known.policy.mode.value,
        "observations": facts.tally.observations,
        "runs": known.runs,
        "oomKills": facts.tally.oom_kills,
        "maxNeed": None if known.max_need_bytes is None else words_for_bytes(known.max_need_bytes),
        "champion": _serving(known),
        "championWords": words_for_expert(_serving(known)),
        "expertCosts": _costs(facts.standing, (previous or {}).get("expertCosts")),
        "cpu": cpu_status_of(known),
        "savedGbH": _rounded(asked - given) if asked > 0 else None,
        "saved": saved if asked > 0 else None,
        **_model_fields(_serving(known), known.model),
        "lastDecisions": [cut(words, MAX_DECISION) for words in facts.decisions[:MAX_DECISIONS]],
        "observedGeneration": facts.generation,
        "conditions": conditions_of(_conditions(facts), (previous or {}).get("conditions"), now_s),
    }


def changed(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    """Whether patching ``new`` over ``old`` would change anything; None and absent are alike."""
    return bool(_without_nones(old or {}) != _without_nones(new))


def newly_shifted(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    """Whether ``new`` says of a shift of level what ``old`` did not."""
    said = _condition(new, DRIFTING)
    if said.get("reason") != Change.LEVEL.value:
        return False
    return _condition(old or {}, DRIFTING).get("message") != said.get("message")


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    found = status.get("conditions")
    named = [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, Mapping) and each.get("type") == kind
    ]
    return named[0] if named else {}


def _without_nones(value: Any) -> Any:
    if isinstance(value, Mapping):
        cleaned = {key: _without_nones(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in cleaned.items() if item != {}}
    if isinstance(value, list | tuple):
        return [_without_nones(item) for item in value]
    return value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _ROUNDED)


def _phase(facts: ProfileFacts) -> Phase:
    known = facts.knowledge
    return phase_of(
        Progress(
            runs=known.runs,
            min_runs=known.policy.min_runs,
            champion=known.champion,
            trained=known.model is not None,
            leaking=facts.leaking is not None,
            paused=known.paused or known.policy.mode is Mode.OFF,
        )
    )


def _serving(known: Knowledge) -> str:
    """Who is asked for the size: below ``min_runs`` nobody but the user."""
    return str(known.champion) if known.runs >= known.policy.min_runs else REQUEST


def _costs(standing: StandingFacts | None, shown: object) -> dict[str, float | None] | None:
    """Each expert's cost over the champion's: two digits, or every run would change them all.

    shown: as before; an expert that is not among them any more is deleted.
    """
    if standing is None:
        return None
    before = dict.fromkeys(shown) if isinstance(shown, Mapping) else {}
    return {**before, **{name: round(times, 2) for name, times in standing.times.items()}}


def _model_fields(champion: str, model: Model | None) -> dict[str, Any]:
    if model is None:
        absent = ("bins", "binsText", "uScore", "accuracy", "modelVersion", "trainedTime")
        return {"model": champion, **dict.fromkeys(absent)}
    serves = champion == CLASSIFIER
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


def _conditions(facts: ProfileFacts) -> list[Condition]:
    return [
        _trained(facts),
        _measured(facts.measurement),
        _leaking(facts.leaking),
        _drifting(facts.standing.drift if facts.standing else STEADY),
        _policy_valid(facts.problems),
        _store_healthy(facts.trouble),
    ]


def _trained(facts: ProfileFacts) -> Condition:
    training, model = facts.training, facts.knowledge.model
    if training is not None and training.failure is not None:
        serving = f"model {model.version} keeps serving" if model else "there is no model yet"
        message = f"the last training failed: {training.failure}; {serving}"
        return Condition("Trained", Verdict.FALSE, "TrainingFailed", message)
    if model is None:
        message = f"no model yet; {facts.knowledge.runs} runs are known"
        return Condition("Trained", Verdict.UNKNOWN, "NoTrainingYet", message)
    note = f"; {training.note}" if training is not None and training.note else ""
    message = f"model {model.version} learned from {model.observations} observations{note}"
    return Condition("Trained", Verdict.TRUE, "ModelTrained", message)


def _measured(measurement: Measurement | None) -> Condition:
    if measurement is None:
        message = "no attempt has succeeded yet"
        return Condition("Measured", Verdict.UNKNOWN, "NothingEnded", message)
    if measurement.source is None:
        message = (
            "nobody measured the last attempt's peak, so it teaches nothing;"
            " is the agent running on its node?"
        )
        return Condition("Measured", Verdict.FALSE, "NoPeak", message)
    message = f"the last peak came from: {measurement.source.value}"
    return Condition("Measured", Verdict.TRUE, "PeakKnown", message)


def _leaking(reason: str | None) -> Condition:
    if reason is None:
        return Condition("Leaking", Verdict.FALSE, "LiftsHelp", "no run is beyond help")
    return Condition("Leaking", Verdict.TRUE, "LiftsExhausted", reason)


def _drifting(drift: DriftFacts) -> Condition:
    verdict = Verdict.TRUE if drift.drifting else Verdict.FALSE
    return Condition(DRIFTING, verdict, drift.change.value, drift.words)


def _policy_valid(problems: Sequence[str]) -> Condition:
    if not problems:
        return Condition("PolicyValid", Verdict.TRUE, "AllFieldsRead", "every field is in force")
    return Condition("PolicyValid", Verdict.FALSE, "FieldsIgnored", "; ".join(problems))


def _store_healthy(trouble: str | None) -> Condition:
    if trouble is None:
        return Condition("StoreHealthy", Verdict.TRUE, "Writing", "observations are being kept")
    return Condition("StoreHealthy", Verdict.FALSE, "Trouble", trouble)
