"""Says which tasks are ordered: those that people want ordered, and that lose little by waiting."""

from __future__ import annotations

import asyncio
import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import structlog
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from plimsoll_operator.controller.placing.publishing import Encountered
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_predictor.core.policy import Mode, Order
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.placing.prices import costs_on_nodes
from plimsoll_predictor.placing.queueing import PairWaste
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS, fair_regret
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

log = structlog.get_logger()

LEAST_RUNTIMES: Final = 50.0
"""A task is ordered only if it runs this many times as long as a release takes: in simulation, a
release of a fiftieth of a runtime cost a seventh of what an order gains."""
FIRST_LATENCY_S: Final = 1.0
"""Assumed until releases were measured. On a busy machine they took 0.05 to 0.7 s."""
LEAST_LATENCY_S: Final = 0.1
LATENCIES_KEPT: Final = 51
LONGEST_S: Final = 10.0
"""A released pod that is bound later than this waited for room, not for its release."""


class Forecasting(Protocol):
    """Knows how long tasks run."""

    async def forecast(self, task: TaskId, at_s: float) -> Forecast | None:
        """Forecast a run submitted then; None while no run of the task is known."""


@dataclass(slots=True)
class Latency:
    """How long it takes from a release until the pod has a node."""

    _seen_s: deque[float] = field(default_factory=lambda: deque(maxlen=LATENCIES_KEPT))

    def saw(self, seconds: float) -> None:
        """Note one release."""
        if seconds <= LONGEST_S:
            self._seen_s.append(seconds)

    @property
    def usual_s(self) -> float:
        """The median of the latest; FIRST_LATENCY_S until one was seen."""
        return max(LEAST_LATENCY_S, statistics.median(self._seen_s or (FIRST_LATENCY_S,)))


@dataclass(slots=True)
class OrderedTasks:
    """What is known of tasks, for their order. ``renew`` brings it up to date."""

    encounters: Encountered
    forecasts: Forecasting
    policies: TaskPolicies
    least_runtimes: float = LEAST_RUNTIMES
    most_excess: float = MOST_EXCESS
    latency: Latency = field(default_factory=Latency)
    tasks: frozenset[str] = frozenset()
    """The ordered tasks, as ``namespace/name``."""
    pairs: PairWaste | None = None
    """What pairs of tasks waste; None while nothing is known."""
    _solved: Matrix | None = None
    _known: set[str] = field(default_factory=set)
    """Kinds with at least one known slowdown: their own, or another kind's beside them."""

    async def renew(self, now_s: float) -> None:
        """Look at policies, forecasts and slowdowns. now_s: Unix seconds."""
        matrix = self.encounters.matrix
        runtimes_s = {kind: await self._runtime_s(kind, now_s) for kind in matrix.kinds}
        if matrix is not self._solved:
            self.pairs = await asyncio.to_thread(_waste, matrix, runtimes_s, self.most_excess)
            self._known = _with_known_partners(matrix)
            self._solved = matrix
        least_s = self.least_runtimes * self.latency.usual_s
        self.tasks = frozenset(
            kind for kind in self._known if self.orders(kind) and runtimes_s[kind] >= least_s
        )

    def orders(self, kind: str) -> bool:
        """Say whether a policy orders the task, and nobody paused it or switched it off."""
        if kind == OTHERS:
            return False
        try:
            task = TaskId.parse(kind)
        except ValueError:
            return False
        if self.policies.leave_alone(task.namespace) or self.policies.pauses(task):
            return False
        policy = self.policies.of_task(task).policy
        return policy.order is Order.ENFORCE and policy.mode is not Mode.OFF

    async def _runtime_s(self, kind: str, now_s: float) -> float:
        """Return how long a run usually takes; 0 if unknown."""
        if kind == OTHERS:
            return 0.0
        try:
            forecast = await self.forecasts.forecast(TaskId.parse(kind), now_s)
        except ValueError:
            return 0.0
        return 0.0 if forecast is None or forecast.usual_s is None else forecast.usual_s


def _with_known_partners(matrix: Matrix) -> set[str]:
    """Return the kinds with a known slowdown, either their own or another kind's beside them.

    A kind may run equally well beside all others; then only their runs show how it affects them.
    """
    known = costs_on_nodes(matrix)[0].known
    tell = np.arange(len(matrix.kinds)) != matrix.place(OTHERS)
    of_kind = known.any(axis=1) | known[tell].any(axis=0)
    return {kind for at, kind in enumerate(matrix.kinds) if of_kind[at]}


def _waste(matrix: Matrix, runtimes_s: dict[str, float], most_excess: float) -> PairWaste:
    """Solve for the mix of pairs that a short queue can have; 9 to 15 ms for some fifty tasks."""
    known = [runtime_s for runtime_s in runtimes_s.values() if runtime_s > 0]
    usual_s = statistics.median(known) if known else 1.0
    work = np.array([runtimes_s[kind] or usual_s for kind in matrix.kinds])
    with threadpool_limits(limits=1, user_api="blas"):
        regret = fair_regret(matrix.times_forecast, matrix.shares, work, most_excess)
    return PairWaste(matrix.kinds, regret)
