"""Decides an attempt's size. Pure: knowledge goes in, a decision with its reason comes out.

The first match wins: sizing is switched off; the run was lifted; too few runs are known; the task
is paused; the champion decides by its model or rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import plural, words_for_bytes
from plimsoll_predictor.deciding.bursts import first_over_siblings
from plimsoll_predictor.deciding.choosing import Choice, cheapest_ceiling
from plimsoll_predictor.deciding.clamping import Range
from plimsoll_predictor.experts.panel import words_for_expert
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.knowledge.rule import Rule, for_larger_request
from plimsoll_predictor.model.task_model import Model

ROOM_OVER_REQUEST: Final = 1.1
SHOWN_BY_KILLS: Final = 2.0
"""What only kills show counts up to so many times the size that was written, or that sufficed."""
_UNKNOWN_TASK_POLICY = Policy()
_BEYOND_BUDGETS = frozenset({Reason.LIFTED, Reason.KEPT, Reason.COLD_START, Reason.OFF})


def decide(
    ask: Ask, knowledge: Knowledge | None, bounds: Bounds, constants: Constants = SERVED
) -> Decision:
    """Decide one attempt's allocation.

    knowledge: None if the task was never seen; its run then keeps the user's request.
    bounds: what the cluster allows; together with the policy's min and max they always hold, and
        the cap wins over the floor. If they hold back a size that the pod could use as its author
        wrote it, the pod is left as it is.
    """
    if knowledge is None:
        allowed = Range.of(_UNKNOWN_TASK_POLICY, bounds, ask.request_bytes)
        return _keep(ask, allowed, Reason.COLD_START, "this task was never seen before")
    if knowledge.policy.mode is Mode.OFF:
        return Decision(allocation_bytes=None, reason=Reason.OFF, why="sizing is switched off")
    allowed = Range.of(knowledge.policy, bounds, ask.request_bytes)
    return _Case(ask, knowledge, allowed, constants).decide()


def first_bytes(
    request_bytes: int | None, policy: Policy, exceeded_bytes: int | None = None
) -> int | None:
    """The first size, unclamped, of a task without a successful run; None keeps the request.

    request_bytes: None if the user asked for nothing, which has no share.
    exceeded_bytes: the largest allocation of the task's runs that was too small; None if none was.
        A first size that is not above it is not tried again.
    It is never above the request, and always None for a critical task.
    """
    if request_bytes is None or policy.critical or policy.first_size >= 1:
        return None
    size_bytes = math.ceil(request_bytes * policy.first_size)
    return size_bytes if size_bytes > (exceeded_bytes or 0) else None


@dataclass(frozen=True, slots=True)
class _Case:
    """One attempt of a known task."""

    ask: Ask
    knowledge: Knowledge
    allowed: Range
    constants: Constants

    @property
    def _runs_known(self) -> str:
        runs = self.knowledge.runs
        return f"{runs} {plural(runs, 'run')} known"

    @property
    def _guarded(self) -> str:
        guarded = self.knowledge.guarded
        return "" if guarded is None else guarded.words

    def decide(self) -> Decision:
        knowledge = self.knowledge
        decision = self._decided()
        if knowledge.policy.error_budget is None or decision.reason in _BEYOND_BUDGETS:
            return decision
        return self._within(knowledge.policy.error_budget, decision)

    def _within(self, budget: float, decision: Decision) -> Decision:
        """Move a size below the request toward it, by the share of the error budget spent."""
        spent, request_bytes = self.knowledge.spent, self.ask.request_bytes
        size_bytes, share = decision.allocation_bytes, spent.share_of(budget)
        if size_bytes is None or request_bytes is None or size_bytes >= request_bytes or not share:
            return decision
        words = spent.words(budget)
        if share >= 1:
            because = f"its error budget is spent: {words} happened"
            kept = _keep(self.ask, self.allowed, Reason.NOT_LOWERED, because)
            return replace(kept, attempt=decision.attempt)
        moved = self.allowed.clamp(size_bytes + (request_bytes - size_bytes) * share)
        why = f"{decision.why}; raised {share:.0%} of the way to the request, as {words} happened"
        if moved.allocation_bytes is None:
            # The way to the request leads above the policy's maximum.
            why = _sentence(why, moved.note)
            return replace(decision, allocation_bytes=None, reason=Reason.KEPT, why=why)
        allocation_bytes = min(moved.allocation_bytes, request_bytes)
        return replace(decision, allocation_bytes=allocation_bytes, why=why)

    def _decided(self) -> Decision:
        knowledge = self.knowledge
        lift = knowledge.lifts.get(self.ask.run) if self.ask.run is not None else None
        if lift is None:
            return self._by_past()
        if lift.exactly:
            return self._exactly_written(lift)
        # It is not lowered; apart from that it is sized as any other; see safeguards.py.
        return (
            replace(self._by_past(), attempt=lift.attempt)
            if lift.as_written
            else self._lifted(lift)
        )

    def _by_past(self) -> Decision:
        """The size of a run's first attempt."""
        knowledge = self.knowledge
        if knowledge.runs < knowledge.policy.min_runs:
            return self._cold_start()
        if knowledge.paused:
            return _keep(self.ask, self.allowed, Reason.KEPT, "sizing of this task is paused")
        if knowledge.champion == CLASSIFIER:
            return self._predicted()
        if knowledge.champion == BOOSTING:
            return self._boosted()
        request_bytes = self.ask.request_bytes
        enough = knowledge.shown.floor_bytes <= (request_bytes or 0)
        if knowledge.champion == REQUEST and request_bytes is not None and enough:
            why = f"the user's request has been the cheapest choice over {self._runs_known}"
            why = _sentence(why, self._guarded)
            return _keep(self.ask, self.allowed, Reason.KEPT, why)
        if knowledge.rule is not None and knowledge.champion != REQUEST:
            return self._by_rule(knowledge.rule)
        return self._max_seen("")

    def _exactly_written(self, lift: Lift) -> Decision:
        """The request, whatever the bounds: a node has refused a pod of the run that had more."""
        why = (
            f"attempt {lift.attempt} of this run: a node refused the one before, which had more, so"
            " it has exactly what was written"
        )
        return Decision(
            allocation_bytes=self.ask.request_bytes,
            reason=Reason.KEPT,
            why=why,
            attempt=lift.attempt,
        )

    def _lifted(self, lift: Lift) -> Decision:
        lifted_bytes = self.allowed.clamp(lift.allocation_bytes).allocation_bytes
        why = (
            f"attempt {lift.attempt} of this run: {words_for_bytes(lift.after_bytes)} was too "
            f"small, lifted to {words_for_bytes(lifted_bytes or lift.allocation_bytes)}"
        )
        if lift.is_held:
            held = words_for_bytes(lift.allocation_bytes)
            why = f"attempt {lift.attempt} of this run: does smaller chunks in {held}, as before"
        return self._sized(lift.allocation_bytes, Reason.LIFTED, why, attempt=lift.attempt)

    def _cold_start(self) -> Decision:
        knowledge = self.knowledge
        asked_bytes = max(self.ask.request_bytes or 0, self.ask.limit_bytes or 0)
        counted = f"{knowledge.runs} of the {knowledge.policy.min_runs} runs needed are known"
        # Too few runs to lower a request, but one need above it is enough to raise it.
        if not knowledge.paused and 0 < asked_bytes <= (knowledge.max_need_bytes or 0):
            return self._max_seen(f"only {counted}, but a need beyond the request was seen")
        first = self._first_size(f"only {counted}")
        return first or _keep(self.ask, self.allowed, Reason.COLD_START, f"only {counted}")

    def _first_size(self, because: str) -> Decision | None:
        """The share of the request that the policy tries first; None where it is the request."""
        knowledge, request_bytes = self.knowledge, self.ask.request_bytes
        policy = knowledge.policy
        if knowledge.runs or knowledge.paused or request_bytes is None:
            return None
        if self.ask.limit_bytes is not None:
            return None  # a limit of its own above the request: its author expects more at times
        share_bytes = first_bytes(request_bytes, policy, knowledge.max_need_bytes)
        if share_bytes is None or share_bytes >= request_bytes:
            return None
        why = f"{policy.first_size:.0%} of the request is tried first"
        first = self._sized(share_bytes, Reason.FIRST_SIZE, because, why)
        # A floor may raise it to the whole request or above.
        return first if (first.allocation_bytes or 0) < request_bytes else None

    def _max_seen(self, because: str) -> Decision:
        """The largest need with headroom; ``because`` says why it comes to that, or nothing."""
        knowledge = self.knowledge
        if knowledge.max_need_bytes is None:
            return _keep(
                self.ask, self.allowed, Reason.KEPT, _sentence(because, "no need is known")
            )
        headroom = knowledge.policy.headroom
        why = (
            f"{headroom:g} times the largest need seen "
            f"({words_for_bytes(knowledge.max_need_bytes)}); {self._runs_known}"
        )
        size_bytes, cut = self._believed(knowledge.max_need_bytes * headroom)
        return self._sized(size_bytes, Reason.MAX_SEEN, because, why, cut)

    def _believed(self, size_bytes: float) -> tuple[float, str]:
        """A first size as far as more than kills supports it, and words if that is less.

        A leak is killed at any size: each run would start where the run before it was given up.
        """
        knowledge, ask = self.knowledge, self.ask
        sufficed_bytes = knowledge.largest_bytes if knowledge.runs else 0
        if ask.request_bytes is None or sufficed_bytes is None:
            return size_bytes, ""
        known_bytes = max(ask.request_bytes, ask.limit_bytes or 0, sufficed_bytes)
        most_bytes = max(SHOWN_BY_KILLS * known_bytes, knowledge.policy.headroom * sufficed_bytes)
        if size_bytes <= most_bytes:
            return size_bytes, ""
        most = words_for_bytes(most_bytes)
        return most_bytes, f"no more than {most}, as only kills show a larger need"

    def _by_rule(self, rule: Rule) -> Decision:
        knowledge, ask = self.knowledge, self.ask
        bid_bytes = for_larger_request(
            rule.bid_bytes(ask.request_bytes, ask.features),
            ask.request_bytes,
            knowledge.largest_request_bytes,
        )
        if ask.request_bytes is not None:
            # Room above the request follows known needs: a heap that fills its allocation would
            # climb with its own peaks.
            most_bytes = ROOM_OVER_REQUEST * (knowledge.max_need_bytes or 0)
            bid_bytes = min(bid_bytes, max(float(ask.request_bytes), most_bytes))
        bid_bytes, cut = self._believed(bid_bytes)
        why = f"{words_for_expert(knowledge.champion)}; {self._runs_known}"
        why = _sentence(why, rule.why(ask.features), self._guarded)
        return self._sized(bid_bytes, Reason.LEARNED, why, cut)

    def _boosted(self) -> Decision:
        model = self.knowledge.model
        try:
            bid_bytes = model.boosted_bid_bytes(self.ask.features) if model else None
        except Exception as error:
            return self._max_seen(f"the model failed ({type(error).__name__})")
        if model is None or bid_bytes is None:
            return self._max_seen("there is no boosted model yet")
        size_bytes, cut = self._believed(bid_bytes)
        why = f"{words_for_expert(BOOSTING)}; {self._runs_known}"
        return self._sized(size_bytes, Reason.PREDICTED, why, cut, model_version=model.version)

    def _predicted(self) -> Decision:
        model = self.knowledge.model
        if model is None:
            return self._max_seen("there is no model yet")
        try:
            probabilities = model.probabilities(self.ask.features)
            choice = cheapest_ceiling(probabilities, model.bins, self.knowledge.policy.penalty)
        except Exception as error:
            # Whatever is wrong with a model, the simple rule still serves the pod.
            return self._max_seen(f"the model failed ({type(error).__name__})")
        return self._allocated(choice, model)

    def _allocated(self, choice: Choice, model: Model) -> Decision:
        knowledge = self.knowledge
        n_bins = len(model.bins)
        why = (
            f"bin {choice.bin + 1} of {n_bins} (up to {words_for_bytes(choice.ceiling_bytes)}): "
            f"{choice.probability:.0%} of its probability lies at or below; {self._runs_known}"
        )
        largest_bytes = knowledge.max_need_bytes or 0
        size_bytes, note = self._believed(choice.ceiling_bytes)
        beyond_bytes, _ = self._believed(largest_bytes * knowledge.policy.headroom)
        if choice.bin == n_bins - 1 and beyond_bytes > size_bytes:
            # A kill since the training: the last bin has no upper end, its ceiling must follow.
            note = f"raised over the largest need seen, {words_for_bytes(beyond_bytes)}"
            size_bytes = beyond_bytes
        return self._sized(
            size_bytes,
            Reason.PREDICTED,
            why,
            note,
            bin=choice.bin,
            probability=choice.probability,
            model_version=model.version,
        )

    def _sized(self, size_bytes: float, reason: Reason, *why: str, **more: Any) -> Decision:
        """A decision for a size within bounds. more: other fields of the decision."""
        floor, note = self.knowledge.floor, ""
        if reason is not Reason.LIFTED and self.knowledge.runs:
            size_bytes, note = first_over_siblings(
                size_bytes, self.ask, self.knowledge, self.constants
            )
        if floor is not None and reason is not Reason.LIFTED:
            written_bytes = max(self.ask.request_bytes or 0, self.ask.limit_bytes or 0)
            least_bytes = floor.within(written_bytes)
            if size_bytes < least_bytes:
                size_bytes, note = least_bytes, f"raised: {floor.words}"
        clamped = self.allowed.clamp(size_bytes)
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.KEPT if clamped.allocation_bytes is None else reason,
            why=_sentence(*why, note, clamped.note),
            **more,
        )


def _keep(ask: Ask, allowed: Range, reason: Reason, because: str) -> Decision:
    """The user's request as it is; above a bound the pod is left to its author and the cluster."""
    decision = Decision(allocation_bytes=None, reason=reason, why=because)
    if ask.request_bytes is None:
        return replace(decision, why=_sentence(because, "no request to keep, left as it is"))
    if bound := allowed.forbids(ask.request_bytes):
        left = f"its request is above {bound}, left as it is"
        return replace(decision, why=_sentence(because, left))
    clamped = allowed.admit(ask.request_bytes)
    note = clamped.note or f"the request of {words_for_bytes(ask.request_bytes)} is kept"
    why = _sentence(because, note)
    return replace(decision, allocation_bytes=clamped.allocation_bytes, why=why)


def _sentence(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
