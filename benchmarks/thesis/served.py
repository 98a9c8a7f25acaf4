"""What the product's classifier serves on a heavy task, run by run, strictly in time order.

The replay is the product's (``replay.sizes``): a decision sees only runs that had ended by then; a
failed attempt wastes its whole allocation and is lifted. ``training.train`` trains the classifier
on what is known at that time, again whenever that has grown by a quarter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from benchmarks.thesis.tasks import NAMESPACE, TaskRows
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.choosing import cheapest_ceiling
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.replay.sizes.baselines import BASELINES
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs, Sizer
from plimsoll_predictor.training.report import TrainingReport
from plimsoll_predictor.training.train import TrainingPlan, train
from plimsoll_predictor.training.u_score import Reliability

FIRST_TRAINING: Final = 60
"""In runs; each following training comes one growth later."""
RULES: Final = ("preset", "max-seen", "max-seen-1.1", "tovar", "p95-vpa")
CLASSIFIER: Final = "classifier"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much training there is in a replay.

    growth: a training is due when this many times as many runs are known as at the last one, and,
        as in service, after an OOM kill.
    iterations, training_s: of each training's search.
    """

    growth: float = 1.25
    iterations: int = 4
    training_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Share:
    """How a policy did over some of the runs. failed_runs: those whose first attempt failed."""

    runs: int
    waste_gb_h: float
    failed_attempts: int
    failed_runs: int

    @property
    def failure_rate(self) -> float:
        """Failed attempts per run, the stricter of the two ways to count; 0 without runs."""
        return self.failed_attempts / self.runs if self.runs else 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """One policy on one heavy task, over all runs and over the later ones.

    report: of the last training; None for rules.
    """

    task: str
    policy: str
    every: Share
    later: Share
    ms_per_decision: float
    trainings: int = 0
    report: TrainingReport | None = None
    reliability: Reliability | None = None
    """Reliability of the chances that the classifier served by; None for rules."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, except tuples that JSON writes as lists."""
        return asdict(self)


LATER_SHARE: Final = 0.7
"""The last 70% of the runs: a task is learned from the first ones."""


def served_by_rule(rows: TaskRows, name: str) -> Served:
    """Replay one of the simple rules."""
    sizer = BASELINES[name](Knobs())
    return _served(rows, name, sizer)


def served_by_classifier(rows: TaskRows, effort: Effort, *, seed: int) -> Served:
    """Replay the classifier alone."""
    sizer = ClassifierSizer(rows, effort, seed)
    found = _served(rows, CLASSIFIER, sizer)
    return replace(
        found,
        trainings=sizer.trainings,
        report=sizer.report,
        reliability=sizer.reliability(),
    )


def _served(rows: TaskRows, name: str, sizer: Sizer) -> Served:
    done = replay(trace_rows(rows), sizer, cap_bytes=rows.reference_bytes)
    ended = sorted(done.rows, key=lambda row: row.row.line)
    first_later = round(len(ended) * (1 - LATER_SHARE))
    return Served(
        task=rows.kind.name,
        policy=name,
        every=_share(ended),
        later=_share(ended[first_later:]),
        ms_per_decision=float(np.median(done.decisions_s)) * 1000,
    )


def _share(rows: Sequence[ReplayedRow]) -> Share:
    return Share(
        runs=len(rows),
        waste_gb_h=sum(row.waste_gb_h for row in rows),
        failed_attempts=sum(row.failed_attempts for row in rows),
        failed_runs=sum(row.failed_attempts > 0 for row in rows),
    )


def trace_rows(rows: TaskRows) -> list[TraceRow]:
    """A task's rows as the replay reads them."""
    return [
        TraceRow(
            line=place + 2,
            run=f"{rows.kind.name}-{place}",
            task=rows.kind.name,
            item=None,
            submit_s=float(rows.submitted_s[place]),
            start_s=float(rows.submitted_s[place]),
            complete_s=float(rows.submitted_s[place] + rows.runtime_s[place]),
            runtime_s=float(rows.runtime_s[place]),
            cpus=rows.kind.cores,
            preset_bytes=rows.reference_bytes,
            input_bytes=None,
            peak_bytes=int(rows.need_bytes[place]),
            features=rows.features[place],
        )
        for place in range(len(rows.features))
    ]


@dataclass(slots=True)
class ClassifierSizer:
    """The product's classifier and expected-cost choice as a policy of the replay."""

    rows: TaskRows
    effort: Effort
    seed: int
    policy: Policy = field(default_factory=Policy)
    known: list[Observation] = field(default_factory=list)
    model: Model | None = None
    report: TrainingReport | None = None
    trainings: int = 0
    chances: list[tuple[float, bool]] = field(default_factory=list)
    """For each run and inner ceiling: the model's chance that the need fits, and whether it did."""
    _max_need_bytes: int = 0
    _largest_bytes: int = 0
    """The largest need of the runs that succeeded."""
    _next_training: float = FIRST_TRAINING
    _kills: int = 0
    """Kills since the last training."""
    _bid: dict[int, tuple[Model, list[float]]] = field(default_factory=dict)

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        """The cheapest ceiling; without a model the largest need; with few runs the request."""
        if len(self.known) < self.policy.min_runs:
            return asked.preset_bytes or 0
        if len(self.known) >= self._next_training or (self.model and self._kills):
            self._train(now_s)
        if self.model is None:
            return int(self._max_need_bytes * self.policy.headroom)
        chances = self.model.probabilities(asked.features)
        self._bid[asked.line] = (self.model, np.cumsum(chances)[:-1].tolist())
        choice = cheapest_ceiling(chances, self.model.bins, self.policy.penalty)
        if choice.bin == len(self.model.bins) - 1:
            # The last bin has no upper end, so it follows the largest need seen, as deciding does.
            return int(max(choice.ceiling_bytes, self._max_need_bytes * self.policy.headroom))
        return choice.ceiling_bytes

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, _now_s: float, /) -> int:
        """The product's ladder."""
        knowledge = Knowledge(
            task=TaskId(NAMESPACE, asked.task),
            policy=self.policy,
            runs=len(self.known),
            max_need_bytes=self._max_need_bytes,
            largest_bytes=self._largest_bytes,
            model=self.model,
        )
        failed = FailedAttempt(
            killed_at_bytes=failed_bytes,
            attempt=attempt,
            request_bytes=asked.preset_bytes,
            attempts_left=self.policy.max_lifts + 1 - attempt,
        )
        lift = next_allocation(failed, knowledge, Bounds(cap_bytes=self.rows.reference_bytes))
        return lift.allocation_bytes if isinstance(lift, Lift) else failed_bytes * 2

    def failed(
        self, _asked: Submitted, allocation_bytes: int, _attempt: int, _now_s: float, /
    ) -> None:
        """Note that the need is above the allocation."""
        self._kills += 1
        self._max_need_bytes = max(self._max_need_bytes, allocation_bytes)

    def completed(self, row: TraceRow, allocation_bytes: int, _now_s: float, /) -> None:
        """Note the need."""
        self._max_need_bytes = max(self._max_need_bytes, row.peak_bytes)
        self._largest_bytes = max(self._largest_bytes, row.peak_bytes)
        if row.line in self._bid:
            model, chances = self._bid.pop(row.line)
            ceilings = model.bins.ceilings_bytes[:-1]
            self.chances += [
                (chance, row.peak_bytes <= ceiling)
                for chance, ceiling in zip(chances, ceilings, strict=True)
            ]
        self.known.append(
            Observation(
                attempt_uid=row.run,
                task=TaskId(NAMESPACE, row.task),
                run=row.run,
                features=row.features,
                outcome=Outcome.SUCCEEDED,
                request_bytes=row.preset_bytes,
                allocation_bytes=allocation_bytes,
                peak_bytes=row.peak_bytes,
                submitted_s=row.submit_s,
                started_s=row.complete_s - row.runtime_s,
                finished_s=row.complete_s,
            )
        )

    def reliability(self) -> Reliability:
        """The reliability of all chances it decided by."""
        said, true = zip(*self.chances, strict=True) if self.chances else ((), ())
        return Reliability.of(np.array(said, dtype=np.float64), np.array(true, dtype=np.bool_))

    def _train(self, now_s: float) -> None:
        plan = TrainingPlan(
            policy=self.policy,
            seed=self.seed,
            clock=time.monotonic,
            now_s=now_s,
            budget_s=self.effort.training_s,
            iterations=self.effort.iterations,
        )
        result = train(f"{NAMESPACE}/{self.rows.kind.name}", self.known, plan)
        self.model, self.report = result.model, result.report
        self.trainings += 1
        self._kills = 0
        self._next_training = len(self.known) * self.effort.growth
