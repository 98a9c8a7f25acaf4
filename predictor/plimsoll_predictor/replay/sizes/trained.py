"""Plimsoll under replay with its trainings: the classifier and boosted quantiles bid, too.

A task is trained when the product's own trigger says so, on what is known at the replayed moment.
Its model serves from then on: the replay's clock stands still meanwhile. A replay cannot afford
what a cluster spends over months, so trainings are fewer and smaller than in service.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.record import FeatureValue, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.modelled import bidders_of, modelled_bids
from plimsoll_predictor.experts.panel import MODELLED
from plimsoll_predictor.experts.standing import Bids
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs, Trainings
from plimsoll_predictor.training.when_due import Since, should_train

SEED: Final = 1996
_NAMESPACE: Final = "replay"


@dataclass(slots=True)
class Trained:
    """What was trained. left_out: trainings that fell due when no processor time was left."""

    trainings: int = 0
    processor_s: float = 0.0
    left_out: int = 0


@dataclass(slots=True)
class _Last:
    """A task's trainings. runs: known at the last one; None before the first."""

    trainings: int = 0
    runs: int | None = None


class TrainedSizer(ProductSizer):
    """Plimsoll with its trainings, as far as ``Trainings`` allows."""

    def __init__(self, knobs: Knobs) -> None:
        super().__init__(knobs)
        self._trainings = knobs.trainings or Trainings()
        self._observations: defaultdict[str, list[Observation]] = defaultdict(list)
        self._runs: Counter[str] = Counter()
        self._kills: Counter[str] = Counter()
        self._last: defaultdict[str, _Last] = defaultdict(_Last)
        self.trained = Trained()

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Learn from a kill, and train if that is due."""
        super().failed(asked, allocation_bytes, attempt, now_s)
        features, _ = self._decided[asked.line]
        killed = Observation(
            attempt_uid=f"{asked.line}-{attempt}",
            task=TaskId(_NAMESPACE, asked.task),
            run=str(asked.line),
            attempt=attempt,
            features=features,
            outcome=Outcome.OOM_KILLED,
            submitted_s=asked.submit_s,
            finished_s=now_s,
            request_bytes=asked.preset_bytes,
            allocation_bytes=allocation_bytes,
        )
        self._observations[asked.task].append(killed)
        self._kills[asked.task] += 1
        self._consider(asked.task, now_s)

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Learn from a run, and train if that is due."""
        features, _ = self._decided[row.line]
        super().completed(row, allocation_bytes, now_s)
        done = Observation(
            attempt_uid=f"{row.line}",
            task=TaskId(_NAMESPACE, row.task),
            run=str(row.line),
            features=features,
            outcome=Outcome.SUCCEEDED,
            submitted_s=row.submit_s,
            started_s=now_s - row.runtime_s,
            finished_s=now_s,
            request_bytes=row.preset_bytes,
            allocation_bytes=allocation_bytes,
            peak_bytes=row.peak_bytes,
        )
        self._observations[row.task].append(done)
        self._runs[row.task] += 1
        self._consider(row.task, now_s)

    def _bids(self, asked: Submitted, features: Mapping[str, FeatureValue]) -> Bids:
        ask = Ask(features=dict(features), request_bytes=asked.preset_bytes)
        by_model = modelled_bids(self._known(asked.task), ask)
        return {**super()._bids(asked, features), **by_model}

    def _consider(self, task: str, now_s: float) -> None:
        bounds, last, runs = self._trainings, self._last[task], self._runs[task]
        since = Since(
            runs=runs,
            min_runs=self._policy.min_runs,
            trained_runs=last.runs,
            new_kills=self._kills[task],
        )
        if should_train(since) is None or last.trainings >= bounds.most_per_task:
            return
        if last.runs is not None and runs < bounds.growth * last.runs:
            return
        last.runs = runs
        if self.trained.processor_s >= bounds.processor_s:
            self.trained.left_out += 1
            return
        self._kills[task] = 0
        last.trainings += 1
        self._train(task, now_s)

    def _train(self, task: str, now_s: float) -> None:
        # XGBoost and scikit-learn take seconds to load, and most replays train nothing.
        from plimsoll_predictor.training.out_of_time import times_of_max_seen
        from plimsoll_predictor.training.train import TrainingPlan, train

        began_s = time.process_time()
        plan = TrainingPlan(
            policy=self._policy,
            seed=SEED,
            clock=time.process_time,
            now_s=now_s,
            budget_s=self._trainings.budget_s,
            iterations=self._trainings.iterations,
        )
        done = train(f"{_NAMESPACE}/{task}", self._observations[task], plan)
        self.trained.trainings += 1
        self.trained.processor_s += time.process_time() - began_s
        costs = done.report.out_of_time_costs
        self._knowledge[task] = replace(self._known(task), model=done.model)
        standing = self._standings.standing(task)
        times = times_of_max_seen(costs, bidders_of(done.model))
        for name in MODELLED:
            if name not in times:
                standing.retire(name)
            elif (ratio := times[name]) is not None:
                standing.seed(name, ratio)
        standing.refresh(self._standings.pool, self._policy.overhead_s)
        self._learned(task)
