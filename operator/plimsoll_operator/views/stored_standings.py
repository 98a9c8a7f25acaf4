"""What the store tells of tasks' experts, with what they would bid for the usual run now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.profile.standing_facts import StandingFacts, standing_facts
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Features, Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.modelled import modelled_bids
from plimsoll_predictor.experts.fleet import Fleet
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import Store

LATEST: Final = 50
"""Attempts that the usual one is looked for in."""


@dataclass(frozen=True, slots=True)
class UsualRun:
    """The run that a task most often has of late.

    request_bytes: None if it asks for nothing. features: of the newest run that asked for that.
    """

    request_bytes: int | None = None
    features: Features = field(default_factory=dict)


def usual_run(latest: Sequence[Observation]) -> UsualRun:
    """The commonest request of the latest attempts, the newest of equals. latest: oldest first."""
    newest = list(reversed(latest[-LATEST:]))
    if not newest:
        return UsualRun()
    [(request_bytes, _)] = Counter(each.request_bytes for each in newest).most_common(1)
    features = next(each.features for each in newest if each.request_bytes == request_bytes)
    return UsualRun(request_bytes, features)


class StoredStandings:
    """Reads standings; what the tasks of a namespace share is read once.

    Raises StoreError if the store cannot be read now.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fleet = Fleet(lambda task: TaskId.parse(task).namespace)

    def pool(self, task: TaskId) -> Pool:
        """What a task shares with those of its namespace."""
        if task.namespace not in self._fleet.pools:
            saved = self._store.experts.pools([task.namespace])
            self._fleet.take_up_pool(task.namespace, saved.get(task.namespace))
        return self._fleet.pool_of(str(task))

    def standing(self, task: TaskId) -> Standing | None:
        """A task's experts; None if the store knows nothing of them, or another version's."""
        state = self._store.experts.standing(task)
        return None if state is None else _standing(state)

    def facts(self, task: TaskId, usual: UsualRun, model: Model | None) -> StandingFacts | None:
        """A task's experts; None if the store knows nothing of them, as before its first run.

        usual: for which they bid. model: of the experts that bid by one.
        """
        standing = self.standing(task)
        if standing is None:
            return None
        known = standing.inform(Knowledge(task=task, policy=Policy(), model=model))
        ask = Ask(features=dict(usual.features), request_bytes=usual.request_bytes)
        by_rule = standing.bids(usual.request_bytes, usual.features)
        return standing_facts(standing, self.pool(task), {**by_rule, **modelled_bids(known, ask)})


def _standing(state: Mapping[str, Any]) -> Standing | None:
    try:
        return Standing.from_dict(state)
    except (KeyError, TypeError, ValueError):
        # Another version's: the controller makes it anew.
        return None
