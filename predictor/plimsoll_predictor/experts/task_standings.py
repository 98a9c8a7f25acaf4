"""All tasks' standings, and the pools that they share.

The same runs in the same order give the same state. The caller says which tasks share a pool: the
charges of a stranger's tasks must not choose the expert of another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Bids, Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants

_ALL: Final = ""
"""The one pool, where all tasks share it."""


class TaskStandings:
    """Every task's experts. The cost of learning a run does not grow with tasks or observations.

    pools: every pool by its name.
    """

    def __init__(
        self, shares: Callable[[str], str] | None = None, constants: Constants = SERVED
    ) -> None:
        """shares: a task's name -> the name of the pool that it shares; all share one if None."""
        self._shares = shares or (lambda _task: _ALL)
        self._constants = constants
        self.pools: dict[str, Pool] = {}
        self._standings: dict[str, Standing] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._standings)

    @property
    def pool(self) -> Pool:
        """The one pool, where all tasks share it."""
        return self.pool_of(_ALL)

    def pool_of(self, task: str) -> Pool:
        """The pool that a task shares with others; a new one if nobody was charged yet."""
        name = self._shares(task)
        if name not in self.pools:
            self.pools[name] = Pool(EXPERTS, ANCHORS, self._constants)
        return self.pools[name]

    def put_pool(self, name: str, data: Mapping[str, Any] | None) -> bool:
        """Set a pool as it was stored, or a new one. False if what was stored cannot be read."""
        pool = self.pools[name] = Pool(EXPERTS, ANCHORS, self._constants)
        try:
            if data is not None:
                pool.restore(data)
        except (AttributeError, KeyError, TypeError, ValueError):
            self.pools[name] = Pool(EXPERTS, ANCHORS, self._constants)
            return False
        return True

    def standing(self, task: str) -> Standing:
        """The task's standing, a new one if it was never seen."""
        if task not in self._standings:
            self._standings[task] = Standing()
        return self._standings[task]

    def get(self, task: str) -> Standing | None:
        """The task's standing; None if it was never seen."""
        return self._standings.get(task)

    def put(self, task: str, standing: Standing) -> None:
        """Set a standing as it was stored."""
        self._standings[task] = standing

    def forget(self, task: str) -> None:
        """Drop a task; what the pool learned from it stays."""
        self._standings.pop(task, None)

    def bids(
        self, task: str, request_bytes: float | None, features: Mapping[str, FeatureValue]
    ) -> Bids:
        """The experts' bids for a run that is decided now."""
        standing = self._standings.get(task)
        return standing.bids(request_bytes, features) if standing else {}

    def learn(self, task: str, ended: Ended) -> None:
        """Charge the experts for a run and learn from it."""
        self.standing(task).learn(ended, self.pool_of(task))

    def restarted(self, task: str, restart_s: float) -> None:
        """Learn how long a killed run of a task waited for its next attempt to start."""
        self.pool_of(task).restarted(restart_s)

    def exceeded(self, task: str, killed: Exceeded) -> None:
        """Learn that an attempt was killed at its allocation."""
        self.standing(task).exceeded(killed)
