"""Sees which tasks run beside which, and learns from it which task slows which.

Nothing of this is saved: an observation holds what ran beside its attempt, and how long the run was
forecast to take. A controller that starts learns again from the newest observations. A run is taken
in with the slowdowns known then; once these have changed much, the newest runs are learned again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.hub.hub import AttemptEnded, RunEnded
from plimsoll_operator.controller.placing.first_list import FirstList
from plimsoll_operator.controller.placing.node_clocks import NodeClocks
from plimsoll_operator.metrics.placing import PlacingMetrics
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.bounded_text import MOST_NODE_BYTES, bounded_or_none
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import PASSES, Interference
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.ridge import USUAL
from plimsoll_predictor.placing.stays import LIVING_KEPT, Stay, Stays, bounded_beside
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.store.attempts.encounters import NEWEST

log = structlog.get_logger()

SEEN_WITHIN_S: Final = 30.0
"""If an attempt's end is seen later than this, as after a restart, ends of its neighbours may be
seen even later: what ran beside it is unknown."""
FIT_EVERY_S: Final = 2.0
LEARN_AGAIN_EVERY_S: Final = 60.0
MUCH_ELSE: Final = 0.2
"""How far θ must move before the runs that were taken in with the old one are learned again."""
WAITING_KEPT: Final = 10_000
"""Runs whose end or forecast is still to come."""


class Encounters:
    """Which attempts run on each node, and what ended runs have taught."""

    def __init__(
        self, store: Store, writer: Writer, metrics: PlacingMetrics, now_s: Callable[[], float]
    ) -> None:
        self._store = store
        self._writer = writer
        self._metrics = metrics
        self._now_s = now_s
        self.first_list = FirstList()
        self._stays = Stays()
        self._clocks = NodeClocks()
        self._lives: OrderedDict[str, tuple[int, str]] = OrderedDict()
        """Pod -> its restarts and the attempt that runs now; pods seen longest ago come first."""
        self._interference = Interference()
        self._newest: deque[Encounter] = deque(maxlen=NEWEST)
        """What runs taught, to be learned again."""
        self._learned = 0
        self._again_at_s = float("-inf")
        self._taken_by: Matrix = self._interference.matrix()
        """The matrix when all of the newest were last learned at once."""
        self.matrix: Matrix = self._taken_by
        """How much each task slows each other one; tasks are named ``namespace/task``."""
        self._news = asyncio.Event()
        self._unseen_until_s = 0.0
        self._observed: OrderedDict[str, PlacedRun] = OrderedDict()
        """Attempts that ended and whose forecasts are not known yet."""
        self._forecast_s: OrderedDict[str, float] = OrderedDict()
        """Forecasts of runs whose ends are not committed yet."""
        metrics.watch(lambda: len(self._interference.kinds) - 1, lambda: self.matrix.known_pairs)

    async def restore(self) -> None:
        """Learn from what the store knows."""
        encounters = self._store.encounters
        for run, stay in (await self._writer.read(encounters.newest_stays)).items():
            self._stays.remember(run, stay)
        known = [run.encounter for run in await self._writer.read(encounters.newest)]
        self._newest = deque((each for each in known if each is not None), maxlen=NEWEST)
        self._interference = Interference()
        await self._learn_all()
        # Nobody looked until now, so earlier ends have unknown neighbours.
        self._unseen_until_s = self._now_s()

    def living(self, task: TaskId, status: AttemptStatus) -> None:
        """Note an attempt that runs, as often as it is seen."""
        stay = _stay(task, status)
        if stay is None:
            return
        life = status.restarts, status.attempt_uid
        if self._lives.get(status.uid) != life and self.complete:
            self._clocks.started(stay.node, self._now_s() - stay.started_s)
        self._leave_earlier_life(status)
        self._stays.began(status.attempt_uid, stay)
        self._lives[status.uid] = life
        if len(self._lives) > LIVING_KEPT:
            self._lives.popitem(last=False)

    def ended(self, task: TaskId, status: AttemptStatus) -> Mapping[str, float] | None:
        """Note an attempt's end, once or again.

        Return how many of each task were beside it on average; None if not all of it was seen.
        """
        stay = _stay(task, status)
        self._leave_earlier_life(status)
        if stay is None or stay.ended_s is None:
            self._stays.left(status.attempt_uid)
            return None
        beside = self._stays.ended(status.attempt_uid, stay)
        late_s = self._now_s() - stay.ended_s - self._clocks.behind_s(stay.node)
        if late_s > SEEN_WITHIN_S or stay.ended_s <= self._unseen_until_s or not self.complete:
            return None
        return bounded_beside(beside)

    def gone(self, status: AttemptStatus) -> str:
        """Note that the pod is gone, whether or not its end was seen.

        Return the attempt of the pod that was seen running last, else the attempt of ``status``.
        """
        self._stays.left(status.attempt_uid)
        _, attempt_uid = self._lives.pop(status.uid, (0, status.attempt_uid))
        self._stays.left(attempt_uid)
        return attempt_uid

    def _leave_earlier_life(self, status: AttemptStatus) -> None:
        """Forget a life whose end was missed: the pod has restarted since, as on a lost node."""
        restarts, attempt_uid = self._lives.get(status.uid, (None, ""))
        if restarts is None or restarts > status.restarts:
            return
        del self._lives[status.uid]
        if restarts < status.restarts:
            self._stays.left(attempt_uid)

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Learn from a run that succeeded, once its forecast is known."""
        observation = event.observation
        if not event.novelty.new or observation.outcome is not Outcome.SUCCEEDED:
            return
        started_s, finished_s = observation.started_s, observation.finished_s
        if observation.beside is None or observation.node is None:
            return
        if started_s is None or finished_s is None:
            return
        uid = observation.attempt_uid
        placed = PlacedRun(
            kind=str(observation.task),
            node=observation.node,
            submitted_s=observation.submitted_s,
            started_s=started_s,
            finished_s=finished_s,
            forecast_s=self._forecast_s.pop(uid, 0.0),
            beside=observation.beside,
        )
        if placed.forecast_s:
            self._take_in(placed)
            return
        self._observed[uid] = placed
        if len(self._observed) > WAITING_KEPT:
            self._observed.popitem(last=False)

    def run_ended(self, event: RunEnded) -> None:
        """Learn from a run, now or once its end is committed."""
        placed = self._observed.pop(event.attempt_uid, None)
        if event.forecast_s is None:
            return
        if placed is not None:
            self._take_in(placed.with_forecast(event.forecast_s))
            return
        self._forecast_s[event.attempt_uid] = event.forecast_s
        if len(self._forecast_s) > WAITING_KEPT:
            self._forecast_s.popitem(last=False)

    async def run(self) -> None:
        """Fit again when something is new, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.fit()
            await asyncio.sleep(FIT_EVERY_S)

    async def fit(self) -> None:
        """Fit in a thread: for fifty tasks it takes some tens of milliseconds."""
        if not self._interference.is_stale:
            return
        interference, apart = self._interference, self._interference.apart()
        self.matrix = await asyncio.to_thread(_fitted, apart)
        interference.take_over(apart)
        if self.matrix.moved_since(self._taken_by, USUAL) < MUCH_ELSE:
            return
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._again_at_s:
            self._again_at_s = now_s + LEARN_AGAIN_EVERY_S
            await self._learn_all()

    async def _learn_all(self) -> None:
        """Learn the newest runs again, by what they taught; new runs may be learned meanwhile."""
        turns, known, learned = Turns(), tuple(self._newest), self._learned
        interference = self._interference.apart()
        for _ in range(PASSES):
            interference = await asyncio.to_thread(_afresh, interference)
            for encounter in known:
                interference.learn(encounter)
                await turns.rest()
        apart = interference.apart()
        self._taken_by = self.matrix = await asyncio.to_thread(_fitted, apart)
        interference.take_over(apart)
        for encounter in _last(self._newest, self._learned - learned):
            interference.learn(encounter)
        self._interference = interference

    @property
    def complete(self) -> bool:
        """Whether all pods that run were seen, and not only those listed so far after a start."""
        return self.first_list.complete

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        """Return what runs now: node -> task -> how many."""
        return self._stays.residents()

    def _take_in(self, placed: PlacedRun) -> None:
        encounter = placed.encounter
        if encounter is None:
            return
        self._interference.learn(encounter)
        self._newest.append(encounter)
        self._learned += 1
        self._metrics.learned.inc()
        self._news.set()


def _fitted(interference: Interference) -> Matrix:
    # On a busy node, several threads wait for each other: they took 40 times as long.
    with threadpool_limits(limits=1, user_api="blas"):
        return interference.matrix()


def _afresh(interference: Interference) -> Interference:
    with threadpool_limits(limits=1, user_api="blas"):
        return interference.afresh()


def _last(encounters: Sequence[Encounter], count: int) -> list[Encounter]:
    return list(encounters)[max(0, len(encounters) - count) :]


def _stay(task: TaskId, status: AttemptStatus) -> Stay | None:
    node = bounded_or_none(status.node, MOST_NODE_BYTES)
    if node is None or status.started_s is None:
        return None
    ended_s = status.finished_s
    if ended_s is not None and ended_s < status.started_s:
        return None
    return Stay(node, str(task), status.started_s, ended_s)
