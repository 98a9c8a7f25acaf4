"""A TaskProfile's conditions: what holds, why, and what to do about it. Pure.

ModelReady and MeasurementsFresh are well when True, all others when False. docs/status.md has them
with their reasons; a test keeps the two alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from plimsoll_operator.conditions import Condition, Verdict, timestamp
from plimsoll_operator.drift_words import STEADY, DriftFacts
from plimsoll_operator.policy_levels import PausedBy
from plimsoll_operator.profile_facts import Ailment, Measurement, ProfileFacts, Trouble
from plimsoll_predictor.policy import Mode

MODEL_READY: Final = "ModelReady"
TRAINING_FAILED: Final = "TrainingFailed"
MEASUREMENTS_FRESH: Final = "MeasurementsFresh"
LEAKING: Final = "Leaking"
DRIFTING: Final = "Drifting"
PAUSED: Final = "Paused"
DEGRADED: Final = "Degraded"

_WHO_PAUSES: Final[Mapping[PausedBy, str]] = {
    PausedBy.CLUSTER: "the SizingPolicy cluster in Plimsoll's own namespace pauses everything",
    PausedBy.NAMESPACE: "the namespace's SizingPolicy named default pauses it",
    PausedBy.TASK: "this TaskProfile's spec pauses it",
}


def profile_conditions(facts: ProfileFacts) -> list[Condition]:
    """All of them, trouble first: what does not hold says so too."""
    return [
        _degraded(facts),
        _leaking(facts.leaking),
        _training_failed(facts),
        _measurements_fresh(facts.measurement),
        _model_ready(facts),
        _drifting(facts.standing.drift if facts.standing else STEADY),
        _paused(facts),
    ]


def _model_ready(facts: ProfileFacts) -> Condition:
    training, model, runs = facts.training, facts.knowledge.model, facts.knowledge.runs
    if model is not None:
        note = f"; {training.note}" if training is not None and training.note else ""
        learned = (
            f"model {model.version} learned from {_counted(model.observations, 'observation')}"
        )
        return Condition(MODEL_READY, Verdict.TRUE, "ModelTrained", f"{learned}{note}")
    if runs < facts.trains_from:
        message = (
            f"no model yet; {runs} of the {facts.trains_from} runs that a training needs are known"
        )
        return Condition(MODEL_READY, Verdict.FALSE, "TooFewRuns", message)
    message = f"no model yet; {runs} runs are known, a training is due; until then rules decide"
    return Condition(MODEL_READY, Verdict.FALSE, "NotTrainedYet", message)


def _training_failed(facts: ProfileFacts) -> Condition:
    training, model = facts.training, facts.knowledge.model
    if training is None:
        return Condition(
            TRAINING_FAILED, Verdict.FALSE, "NoTrainingYet", "nothing was trained so far"
        )
    at = timestamp(training.at_s)
    if training.failure is None:
        return Condition(
            TRAINING_FAILED, Verdict.FALSE, "TrainingSucceeded", f"the last one, at {at}, succeeded"
        )
    serving = f"model {model.version} keeps serving" if model else "sizes are decided by rules"
    message = f"the last training, at {at}, failed: {training.failure}; {serving}"
    return Condition(TRAINING_FAILED, Verdict.TRUE, "LastTrainingFailed", message)


def _measurements_fresh(measurement: Measurement | None) -> Condition:
    if measurement is None:
        message = "no attempt has succeeded yet"
        return Condition(MEASUREMENTS_FRESH, Verdict.UNKNOWN, "NothingEnded", message)
    if measurement.source is not None:
        message = f"the last peak came from: {measurement.source.value}"
        return Condition(MEASUREMENTS_FRESH, Verdict.TRUE, "Measured", message)
    where = f", the last on node {measurement.node}" if measurement.node else ""
    ask = "is the agent running there?" if where else "is the agent running on its node?"
    if measurement.measured_s is None:
        message = (
            f"nobody measured the {_last(measurement.unmeasured)}{where}, so nothing is learned;"
            f" {ask}"
        )
        return Condition(MEASUREMENTS_FRESH, Verdict.FALSE, "NeverMeasured", message)
    message = (
        f"nobody measured the {_last(measurement.unmeasured)}{where}, so nothing is learned from"
        f" them; the last that was measured ended at {timestamp(measurement.measured_s)}; {ask}"
    )
    return Condition(MEASUREMENTS_FRESH, Verdict.FALSE, "Stale", message)


def _leaking(reason: str | None) -> Condition:
    if reason is None:
        return Condition(LEAKING, Verdict.FALSE, "LiftsHelp", "no run is beyond help")
    message = f"{reason}; it is left alone: look for a leak, or raise max or maxLifts"
    return Condition(LEAKING, Verdict.TRUE, "LiftsExhausted", message)


def _drifting(drift: DriftFacts) -> Condition:
    verdict = Verdict.TRUE if drift.drifting else Verdict.FALSE
    return Condition(DRIFTING, verdict, drift.change.value, drift.words)


def _paused(facts: ProfileFacts) -> Condition:
    if facts.paused_by is not None:
        message = f"{_WHO_PAUSES[facts.paused_by]}; its pods are observed, and left as written"
        return Condition(PAUSED, Verdict.TRUE, facts.paused_by.value, message)
    if facts.knowledge.policy.mode is Mode.OFF:
        message = "its mode is off: its pods are neither changed nor observed"
        return Condition(PAUSED, Verdict.TRUE, "ModeOff", message)
    return Condition(PAUSED, Verdict.FALSE, "NotPaused", "nobody pauses it")


def _degraded(facts: ProfileFacts) -> Condition:
    ignored = [Trouble(Ailment.FIELDS, words) for words in facts.problems]
    order = list(Ailment)
    found = sorted([*facts.troubles, *ignored], key=lambda each: order.index(each.ailment))
    if not found:
        return Condition(DEGRADED, Verdict.FALSE, "AllWell", "nothing keeps Plimsoll from its work")
    message = "; ".join(each.words for each in found)
    return Condition(DEGRADED, Verdict.TRUE, found[0].ailment.value, message)


def _last(count: int) -> str:
    return "last attempt that succeeded" if count <= 1 else f"last {count} attempts that succeeded"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
