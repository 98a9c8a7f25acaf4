"""Finds a TaskProfile's conditions, with their reasons and what to do about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from plimsoll_operator.names.conditions import (
    ConditionStatus,
    ConditionType,
    Finding,
    read_conditions,
    timestamp,
)
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile.facts import Ailment, Degradation, Measurement, ProfileFacts
from plimsoll_operator.wording.drift_words import STEADY
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.deciding.lifting import LIFTING_OFF

_WHO_PAUSES: Final[Mapping[PausedBy, str]] = {
    PausedBy.CLUSTER: "the SizingPolicy cluster in Plimsoll's own namespace pauses everything",
    PausedBy.NAMESPACE: "the namespace's SizingPolicy named default pauses it",
    PausedBy.TASK: "this TaskProfile's spec pauses it",
}

_GIVEN_UP: Final = "; that run was given up, and the next ones are sized and lifted as before"
_AFTER_WHY: Final = (_GIVEN_UP, "; it is left alone")
"""What comes after the cause of a leak in the message; older versions wrote the second."""
_NOT_IN_USE: Final = (
    "the model of the last training is stored, but not in use: there is no room for it beside those"
    " of other tasks (admission.modelsMi), or it was trained by hand; it is tried again after the"
    " next training or the controller's next start; until then rules decide"
)


class Leak(NamedTuple):
    """A task's leak as its status tells it. since_s: Unix seconds."""

    why: str
    since_s: float


def profile_conditions(facts: ProfileFacts) -> dict[ConditionType, Finding]:
    """Return all conditions, the most serious first, also those that do not hold."""
    return {kind: find(facts) for kind, find in _CONDITIONS.items()}


def _model_ready(facts: ProfileFacts) -> Finding:
    training, model, runs = facts.training, facts.knowledge.model, facts.knowledge.runs
    if model is not None:
        note = f"; {training.note}" if training is not None and training.note else ""
        learned = f"model {model.version} learned from {counted(model.observations, 'observation')}"
        return Finding(ConditionStatus.TRUE, "ModelTrained", f"{learned}{note}")
    if runs < facts.trains_from:
        count = f"{runs} of the {facts.trains_from} runs that a training needs are known"
        return Finding(ConditionStatus.FALSE, "TooFewRuns", f"no model yet; {count}")
    if training is not None and training.has_model and training.failure is None:
        return Finding(ConditionStatus.FALSE, "NotInUse", _NOT_IN_USE)
    since = "" if facts.due_since_s is None else f" since {timestamp(facts.due_since_s)}"
    due = f"a training is due{since}"
    message = f"no model yet; {counted(runs, 'run')} known, {due}; until then rules decide"
    return Finding(ConditionStatus.FALSE, "NotTrainedYet", message)


def _training_failed(facts: ProfileFacts) -> Finding:
    training, model = facts.training, facts.knowledge.model
    if training is None:
        return Finding(ConditionStatus.FALSE, "NoTrainingYet", "nothing was trained so far")
    at = timestamp(training.at_s)
    if training.failure is None:
        message = f"the last one, at {at}, succeeded"
        return Finding(ConditionStatus.FALSE, "TrainingSucceeded", message)
    serving = f"model {model.version} keeps serving" if model else "sizes are decided by rules"
    message = f"the last training, at {at}, failed: {training.failure}; {serving}"
    return Finding(ConditionStatus.TRUE, "LastTrainingFailed", message)


def _measurements_fresh(facts: ProfileFacts) -> Finding:
    measurement = facts.measurement
    if measurement is None:
        return Finding(ConditionStatus.UNKNOWN, "NothingEnded", "no attempt has succeeded yet")
    if measurement.source is not None:
        message = f"the last peak came from: {measurement.source.value}"
        return Finding(ConditionStatus.TRUE, "Measured", message)
    message = _unmeasured(measurement)
    if measurement.measured_s is None:
        return Finding(ConditionStatus.FALSE, "NeverMeasured", message)
    at = timestamp(measurement.measured_s)
    message = f"{message}; the newest attempt that was measured ended at {at}"
    return Finding(ConditionStatus.FALSE, "Stale", message)


def _unmeasured(measurement: Measurement) -> str:
    """Say which attempts nobody measured, and where to look."""
    count, node = measurement.unmeasured, measurement.node
    which = "attempt" if count <= 1 else f"{count} attempts"
    it, newest = ("it", "it") if count <= 1 else ("them", "the newest of them")
    look = f"{newest} ran on node {node}: check that" if node else "check that"
    where = "there" if node else "on each node"
    return (
        f"nobody measured the latest {which} that succeeded, so nothing was learned from {it};"
        f" {look} the agent runs {where}"
    )


def _leaking(facts: ProfileFacts) -> Finding:
    if facts.leaking is None:
        return Finding(ConditionStatus.FALSE, "LiftsHelp", "no run is beyond help")
    message = facts.leaking
    if message != LIFTING_OFF:
        message += _GIVEN_UP
    return Finding(ConditionStatus.TRUE, "LiftsExhausted", message)


def leak_of(status: Mapping[str, Any]) -> Leak | None:
    """Return the leak that a status tells of; None if it tells of none."""
    for each in read_conditions(status.get("conditions")):
        if each.get("type") == ConditionType.LEAKING and each.get("status") == ConditionStatus.TRUE:
            since_s = read_time(each.get("lastTransitionTime"))
            why = str(each.get("message") or "")
            for words in _AFTER_WHY:
                why = why.partition(words)[0]
            return None if since_s is None or not why else Leak(why, since_s)
    return None


def _drifting(facts: ProfileFacts) -> Finding:
    drift = facts.standing.drift if facts.standing else STEADY
    status = ConditionStatus.TRUE if drift.drifting else ConditionStatus.FALSE
    return Finding(status, drift.change.value, drift.words)


def _paused(facts: ProfileFacts) -> Finding:
    if facts.paused_by is not None:
        message = f"{_WHO_PAUSES[facts.paused_by]}; its pods are observed, and left as written"
        return Finding(ConditionStatus.TRUE, facts.paused_by.value, message)
    if facts.knowledge.policy.mode is Mode.OFF:
        message = "its mode is off: its pods are neither changed nor observed"
        return Finding(ConditionStatus.TRUE, "ModeOff", message)
    return Finding(ConditionStatus.FALSE, "NotPaused", "nobody pauses it")


def _stepped_back(facts: ProfileFacts) -> Finding:
    if facts.left is None:
        message = "nobody else is known to set its pods' memory"
        return Finding(ConditionStatus.FALSE, "AloneAtWork", message)
    message = f"its latest pod: {facts.left}; its pods are measured and learned from"
    return Finding(ConditionStatus.TRUE, "SetByOthers", message)


def _degraded(facts: ProfileFacts) -> Finding:
    ignored = [Degradation(Ailment.FIELDS, words) for words in facts.problems]
    order = list(Ailment)
    troubles = sorted([*facts.troubles, *ignored], key=lambda trouble: order.index(trouble.ailment))
    if not troubles:
        return Finding(ConditionStatus.FALSE, "AllWell", "nothing keeps Plimsoll from its work")
    message = "; ".join(trouble.words for trouble in troubles)
    return Finding(ConditionStatus.TRUE, troubles[0].ailment.value, message)


_CONDITIONS: Final[Mapping[ConditionType, Callable[[ProfileFacts], Finding]]] = {
    ConditionType.DEGRADED: _degraded,
    ConditionType.LEAKING: _leaking,
    ConditionType.TRAINING_FAILED: _training_failed,
    ConditionType.MEASUREMENTS_FRESH: _measurements_fresh,
    ConditionType.MODEL_READY: _model_ready,
    ConditionType.DRIFTING: _drifting,
    ConditionType.PAUSED: _paused,
    ConditionType.STEPPED_BACK: _stepped_back,
}
