"""Tasks' experts as the store has them, and what they would bid for the usual run now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from plimsoll_operator.profile.standing_facts import StandingFacts, standing_facts
from plimsoll_operator.wording.price_words import failure_price
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.modelled import modelled_bids
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import Store

LATEST: Final = 50
"""The attempts among which the usual run is sought."""


def usual_run(latest: Sequence[Observation]) -> Ask:
    """The commonest request of the latest attempts (of equals, the newest), and its features.

    latest: oldest first. The features are those of the newest run with that request.
    """
    newest = list(reversed(latest[-LATEST:]))
    if not newest:
        return Ask(features={}, request_bytes=None)
    [(request_bytes, _)] = Counter(each.request_bytes for each in newest).most_common(1)
    features = next(each.features for each in newest if each.request_bytes == request_bytes)
    return Ask(features=dict(features), request_bytes=request_bytes)


class StoredStandings:
    """Reads standings; the pool that the tasks of a namespace share is read once.

    Raises StoreError if the store cannot be read now.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._standings = TaskStandings(lambda task: TaskId.parse(task).namespace)

    def pool(self, task: TaskId) -> Pool:
        """The pool that a task shares with the other tasks of its namespace."""
        if task.namespace not in self._standings.pools:
            saved = self._store.experts.pools([task.namespace])
            self._standings.put_pool(task.namespace, saved.get(task.namespace))
        return self._standings.pool_of(str(task))

    def standing(self, task: TaskId) -> Standing | None:
        """A task's experts; None if the store has none, or only another version's."""
        state = self._store.experts.standing(task)
        return None if state is None else _standing(state)

    def facts(
        self, task: TaskId, ask: Ask, model: Model | None, policy: Policy | None = None
    ) -> StandingFacts | None:
        """A task's experts; None if the store has none, as before its first run.

        ask: the run for which they bid. model: used by the experts that bid with a model.
        policy: the one in force, by which a failure is priced; None if unknown.
        """
        standing = self.standing(task)
        if standing is None:
            return None
        knowledge = standing.inform(Knowledge(task=task, policy=Policy(), model=model))
        by_rule = standing.bids(ask.request_bytes, ask.features)
        bids = {**by_rule, **modelled_bids(knowledge, ask)}
        facts, pool = standing_facts(standing, self.pool(task), bids), self.pool(task)
        if facts is None or policy is None:
            return facts
        price = failure_price(pool, standing.past.mean_runtime_s, policy.overhead_s)
        return replace(facts, price=price)


def _standing(state: Mapping[str, Any]) -> Standing | None:
    try:
        return Standing.from_dict(state)
    except (KeyError, TypeError, ValueError):
        # Another version wrote it; the controller makes it again.
        return None
