"""Plimsoll itself under replay: the code that decides, lifts and learns for pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from plimsoll_predictor.core.decision import Ask, Bounds
from plimsoll_predictor.core.item_needs import Siblings
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.failures import AttemptAt
from plimsoll_predictor.experts.in_flight import InFlight
from plimsoll_predictor.experts.standing import Bids, Ended, Exceeded
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import UNASKED_BYTES, Knobs, RunningAttempt

LIFTS: Final = 1000
"""The protocol retries until it fits; in service the policy's maxLifts ends it."""
INPUT_BYTES: Final = "input-bytes"
_NAMESPACE: Final = "replay"


class ProductSizer:
    """Plimsoll with its default policy; the knob is the overhead of a failed attempt."""

    def __init__(self, knobs: Knobs) -> None:
        policy = Policy(mode=Mode.ENFORCE, max_lifts=LIFTS, first_size=knobs.first_size)
        if knobs.strictness is not None:
            policy = replace(policy, overhead_s=knobs.strictness)
        policy = replace(policy, error_budget=knobs.error_budget)
        self._policy = policy
        self._constants = knobs.constants
        self.growth = knobs.growth
        self._bounds = Bounds(cap_bytes=knobs.cap_bytes)
        self._standings = TaskStandings(constants=knobs.constants)
        self._siblings = Siblings()
        self._knowledge: dict[str, Knowledge] = {}
        self._decided: dict[int, tuple[dict[str, FeatureValue], Bids]] = {}

    def see_running(self, task: str, running: Sequence[RunningAttempt], /) -> None:
        """Note what running attempts show, as the controller would."""
        in_flight = InFlight(constants=self._constants)
        for each in running:
            in_flight.started(str(each.line), each.started_s)
            in_flight.reached(str(each.line), each.reached_bytes)
        for run, lift in self._known(task).lifts.items():
            in_flight.lifted(run, lift)
        for each in running if self.growth is not None else ():
            lifted = self._known(task).lifts.get(str(each.line))
            below = lifted is not None and each.reached_bytes < lifted.after_bytes
            in_flight.climbs(str(each.line), still=below or each.climbs)
        shown = in_flight.shown(self._standings.standing(task).past)
        if shown != self._known(task).shown:
            self._knowledge[task] = replace(self._known(task), shown=shown)

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        """Answer as admission would, and keep every expert's bid until the run completes."""
        features = self._features(asked)
        self._decided[asked.line] = (
            features,
            self._bids(asked, features),
        )
        ask = Ask(features=features, request_bytes=asked.preset_bytes, now_s=now_s)
        decision = decide(ask, self._known(asked.task), self._bounds, self._constants)
        return decision.allocation_bytes or UNASKED_BYTES

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, _now_s: float, /) -> int:
        """Lift as the controller would."""
        failed = FailedAttempt(
            killed_at_bytes=failed_bytes,
            attempt=attempt,
            request_bytes=asked.preset_bytes,
            attempts_left=LIFTS - attempt,
            run=str(asked.line),
        )
        known = self._known(asked.task)
        lifted = next_allocation(failed, known, self._bounds, self._constants)
        if not isinstance(lifted, Lift):
            # At the cap the task counts as leaking; the protocol goes on, and the cap ends it.
            return 2 * failed_bytes
        self._knowledge[asked.task] = replace(known, lifts={**known.lifts, str(asked.line): lifted})
        return lifted.allocation_bytes

    def failed(
        self, asked: Submitted, allocation_bytes: int, _attempt: int, _now_s: float, /
    ) -> None:
        """Learn at once from a kill that the allocation was too small."""
        killed = Exceeded(
            run=str(asked.line),
            allocation_bytes=allocation_bytes,
            request_bytes=asked.preset_bytes,
            given_bytes=allocation_bytes,
        )
        self._standings.exceeded(asked.task, killed)
        self._standings.standing(asked.task).refresh(self._standings.pool, self._policy.overhead_s)
        self._learned(asked.task)

    def completed(self, row: TraceRow, allocation_bytes: int, _now_s: float, /) -> None:
        """Charge every expert, and renew what is known about the task."""
        features, bids = self._decided.pop(row.line)
        ended = Ended(
            run=EndedRun(row.peak_bytes, row.runtime_s, row.preset_bytes),
            features=features,
            bids=bids,
            overhead_s=self._policy.overhead_s,
            key=str(row.line),
            given_bytes=allocation_bytes,
            max_seen_bytes=bids.get(MAX_SEEN),
            least_bytes=self._policy.min_bytes,
        )
        self._standings.learn(row.task, ended)
        lowered = allocation_bytes < (row.preset_bytes or 0)
        self._standings.standing(row.task).floors.succeeded(
            AttemptAt(str(row.line), allocation_bytes, lowered),
            row.peak_bytes,
            row.runtime_s,
            features,
        )
        self._siblings.note(row.run, row.item, row.task, row.peak_bytes)
        self._learned(row.task, ended_run=str(row.line))

    def _bids(self, asked: Submitted, features: Mapping[str, FeatureValue]) -> Bids:
        return self._standings.bids(asked.task, asked.preset_bytes, features)

    def _features(self, asked: Submitted) -> dict[str, FeatureValue]:
        features = {**asked.features, **self._siblings.features(asked.run, asked.item, asked.task)}
        if asked.input_bytes:
            features[INPUT_BYTES] = float(asked.input_bytes)
        return features

    def _known(self, task: str) -> Knowledge:
        if task not in self._knowledge:
            self._learned(task)
        return self._knowledge[task]

    def _learned(self, task: str, ended_run: str = "") -> None:
        nothing = Knowledge(task=TaskId(_NAMESPACE, task), policy=self._policy)
        before = self._knowledge.get(task, nothing)
        if ended_run in before.lifts:
            lifts = {run: lift for run, lift in before.lifts.items() if run != ended_run}
            before = replace(before, lifts=lifts)
        self._knowledge[task] = self._standings.standing(task).inform(before)
