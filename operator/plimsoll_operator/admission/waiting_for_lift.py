"""Which pods wait a moment for their lift: later attempts without any news yet.

An engine can make a run's next pod within milliseconds of a kill. The lift takes a few tens more,
because it is committed before it is published. Such a pod is answered a moment later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import Pod, annotations_of
from plimsoll_operator.sizing.sized import Sized
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Lift

LONGEST_S: Final = 1.0
"""A task that fails by itself waits in vain, so this is short compared to a container's start."""
SHARE_OF_TIMEOUT: Final = 0.5
_TIMEOUT: Final = re.compile(r"([0-9]{1,3})s")


@dataclass(frozen=True, slots=True)
class AwaitedLift:
    """A lift that may be on its way to a pod. lift: the one known when the pod came, if any."""

    task: TaskId
    run: str
    lift: Lift | None

    def has_news(self, state: AdmissionState) -> bool:
        """Say whether more is known of the run by now."""
        return _lift(state, self.task, self.run) != self.lift


def awaited_lift(pod: Pod, sized: Sized, state: AdmissionState) -> AwaitedLift | None:
    """Return what a pod should wait for; None for nearly all pods.

    That is so if its engine counts more attempts than the known lift was made for.
    """
    identity, decision, note = sized.identity, sized.decision, sized.note
    if identity is None or identity.attempt <= 1 or identity.run is None:
        return None
    if decision is None or decision.attempt >= identity.attempt:
        return None
    if note is None or note.mode is not Mode.ENFORCE:
        return None
    if labels.DECISION in annotations_of(pod):
        return None  # another webhook changed it: it has waited
    return AwaitedLift(identity.task, identity.run, _lift(state, identity.task, identity.run))


def longest_s(timeout: str | None) -> float:
    """Return how long such a pod may wait. timeout: as the API server says it, such as ``2s``.

    >>> longest_s("1s"), longest_s("10s"), longest_s(None)
    (0.5, 1.0, 1.0)
    """
    found = _TIMEOUT.fullmatch(timeout or "")
    return LONGEST_S if found is None else min(LONGEST_S, SHARE_OF_TIMEOUT * int(found[1]))


def _lift(state: AdmissionState, task: TaskId, run: str) -> Lift | None:
    knowledge = state.tasks.get(task)
    return None if knowledge is None else knowledge.lifts.get(run)
