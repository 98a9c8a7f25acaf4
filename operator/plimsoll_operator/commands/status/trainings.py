"""Trainings that wait, from the leading controller's metrics, if pods of a Job train. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import Metric

from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.cluster_state import ClusterState, Object, part
from plimsoll_operator.commands.status.lending import families_of
from plimsoll_operator.wording.training_words import TrainingsNow

PART: Final = "trainings"
SETTING: Final = "PLIMSOLL_TRAINING_JOB"
_PREFIX: Final = "plimsoll_training"


def trains_in_rounds(deployments: Sequence[Object]) -> bool:
    """Whether a controller among them has a template of a round's Job."""
    for each in deployments:
        for container in part(each, "spec", "template", "spec", "containers") or ():
            if any(part(env, "name") == SETTING for env in part(container, "env") or ()):
                return True
    return False


def trainings_now(metrics: Iterable[bytes]) -> TrainingsNow | None:
    """Read it from controllers' metrics; None if none of them leads."""
    for text in metrics:
        families = families_of(text)
        if f"{_PREFIX}s_waiting" in families:
            last_s = _value(families, "_last_round_seconds")
            return TrainingsNow(
                waiting=int(_value(families, "s_waiting")),
                running=int(_value(families, "s_running")),
                longest_wait_s=_value(families, "_longest_wait_seconds"),
                last_round_s=last_s or None,
            )
    return None


def trainings_check(cluster: ClusterState) -> Check | None:
    """The line of `plimsoll status`; None if the controller trains by itself."""
    if cluster.trainings is None:
        return None
    return Check(PART, Level.GOOD, cluster.trainings.words)


def _value(families: dict[str, Metric], name: str) -> float:
    family = families.get(_PREFIX + name)
    values = [each.value for each in family.samples] if family else []
    return values[0] if values and 0 <= values[0] < 1e15 else 0.0
