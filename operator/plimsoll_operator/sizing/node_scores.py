"""Scores the nodes that a scheduler may choose for one pod, by their tasks and load. Pure.

It uses the same policies, costs and news as hints at nodes. A scheduler asks about nodes that have
room and that the pod may use, so pods that select nodes are scored, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod, mapping, spec_of
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.node_hint import PREFERRED, Heard, need_of, without_hint
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Placing
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.hinting import NoHint
from plimsoll_predictor.placing.loads import UNKNOWN_NEED, Need
from plimsoll_predictor.placing.scoring import MOST_SCORE, scores_of


class Graded(StrEnum):
    """The result of one question for scores, for counting. All except GIVEN give equal scores."""

    GIVEN = "given"
    RECOMMENDED = "recommended"
    """The policy only recommends."""
    OTHER = "other"
    """Nobody asked for it: no label, a policy that never places, a task that is off or paused."""
    CHOSEN = "chosen"
    """Its author prefers nodes by their labels."""
    SILENT = "silent"
    """The controller was not heard from lately."""
    UNKNOWN = NoHint.UNKNOWN.value
    ALIKE = NoHint.ALIKE.value
    LATE = "late"
    """The answer would not have come in time."""
    RESTING = "resting"
    """Many answers were late, so none is computed for a while."""
    OVERSIZED = "oversized"
    """Too many bytes, or too many nodes."""
    MALFORMED = "malformed"
    """It is not a scheduler's question."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of nodes. scores: from 0 to 10, in the order of nodes; None for equal ones.

    task: the task of the scores; None without scores. need: what the pod will use.
    """

    graded: Graded
    scores: Sequence[int] | None = None
    task: TaskId | None = None
    need: Need = field(default=UNKNOWN_NEED, compare=False)

    @property
    def best(self) -> int | None:
        """Return the place of the one best node; None if several are best."""
        if self.scores is None or self.scores.count(MOST_SCORE) != 1:
            return None
        return self.scores.index(MOST_SCORE)


def score_nodes(pod: Pod, nodes: Sequence[str], state: AdmissionState, heard: Heard) -> Scores:
    """Score nodes for a pod. nodes: host names. The same input gives the same answer."""
    identity = identify(pod)
    if identity is None:
        return Scores(Graded.OTHER)
    placing = _placing(pod, identity.task, state)
    if placing is Placing.NEVER:
        return Scores(Graded.OTHER)
    if _prefers(pod):
        return Scores(Graded.CHOSEN)
    if not heard.lately:
        return Scores(Graded.SILENT)
    need = need_of(pod, state, identity.task)
    costs = state.placing.costs_on(str(identity.task), nodes, heard.now_s, need)
    scores = costs if isinstance(costs, NoHint) else scores_of(costs)
    if isinstance(scores, NoHint):
        return Scores(Graded(scores.value))
    if placing is Placing.RECOMMEND:
        return Scores(Graded.RECOMMENDED)
    return Scores(Graded.GIVEN, scores, identity.task, need)


def _placing(pod: Pod, task: TaskId, state: AdmissionState) -> Placing:
    knowledge = state.knowledge_of(task)
    if state.paused or knowledge.paused:
        return Placing.NEVER
    policy, _ = resolve_policy(pod, knowledge.policy)
    return Placing.NEVER if policy.mode is Mode.OFF else policy.placing


def _prefers(pod: Pod) -> bool:
    """Say whether the author prefers nodes: scores would change the effect of those weights."""
    affinity = mapping(spec_of(without_hint(pod)).get("affinity"))
    return bool(mapping(affinity.get("nodeAffinity")).get(PREFERRED))
