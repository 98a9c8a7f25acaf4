"""What an attempt gets. Pure: what is known goes in, a decision with its reason comes out.

The ladder, first match wins (design: 'How a size is decided'): switched off; the run was lifted;
too few runs are known; paused; the champion (classifier, largest need seen, user's request).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from plimsoll_predictor.boosted import boosted_bid_bytes
from plimsoll_predictor.choosing import Choice, cheapest_ceiling
from plimsoll_predictor.clamping import Range
from plimsoll_predictor.cold_start import first_bytes
from plimsoll_predictor.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.experts.names import BOOSTING, CLASSIFIER, REQUEST
from plimsoll_predictor.experts.panel import words_for_expert
from plimsoll_predictor.experts.rule import Rule, for_larger_request
from plimsoll_predictor.knowledge import Knowledge, Lift
from plimsoll_predictor.model import Model
from plimsoll_predictor.policy import Mode, Policy
from plimsoll_predictor.units import words_for_bytes

__all__ = ["Choice", "cheapest_ceiling", "decide"]

_UNKNOWN_TASK_POLICY = Policy()


def decide(ask: Ask, knowledge: Knowledge | None, bounds: Bounds) -> Decision:
    """Decide one attempt's allocation.

    knowledge: None if the task was never seen; its run then keeps the user's request.
    bounds: what the cluster allows; together with the policy's min and max they always hold, the
        cap over the floor.
    """
    if knowledge is None:
        allowed = Range.of(_UNKNOWN_TASK_POLICY, bounds)
        return _keep(ask, allowed, Reason.COLD_START, "this task was never seen before")
    if knowledge.policy.mode is Mode.OFF:
        return Decision(allocation_bytes=None, reason=Reason.OFF, why="sizing is switched off")
    return _Case(ask, knowledge, Range.of(knowledge.policy, bounds)).decide()


@dataclass(frozen=True, slots=True)
class _Case:
    """One attempt of a known task."""

    ask: Ask
    knowledge: Knowledge
    allowed: Range

    def decide(self) -> Decision:
        known = self.knowledge
        lift = known.lifts.get(self.ask.run) if self.ask.run is not None else None
        if lift is not None:
            return self._lifted(lift)
        if known.runs < known.policy.min_runs:
            return self._cold_start()
        if known.paused:
            return _keep(self.ask, self.allowed, Reason.KEPT, "sizing of this task is paused")
        if known.champion == CLASSIFIER:
            return self._predicted()
        if known.champion == BOOSTING:
            return self._boosted()
        if known.champion == REQUEST and self.ask.request_bytes is not None:
            why = f"the user's request has been the cheapest choice over {_counted(known)}"
            return _keep(self.ask, self.allowed, Reason.KEPT, why)
        if known.rule is not None and known.champion != REQUEST:
            return self._by_rule(known.rule)
        return self._max_seen("")

    def _lifted(self, lift: Lift) -> Decision:
        clamped = self.allowed.clamp(lift.allocation_bytes)
        why = (
            f"attempt {lift.attempt} of this run: {words_for_bytes(lift.after_bytes)} was too "
            f"small, lifted to {words_for_bytes(clamped.allocation_bytes)}"
        )
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.LIFTED,
            why=_sentence(why, clamped.note),
            attempt=lift.attempt,
        )

    def _cold_start(self) -> Decision:
        known = self.knowledge
        asked_bytes = max(self.ask.request_bytes or 0, self.ask.limit_bytes or 0)
        counted = f"{known.runs} of the {known.policy.min_runs} runs needed are known"
        # Too little to lower a request on, but one need above it is enough to raise it.
        if not known.paused and 0 < asked_bytes <= (known.max_need_bytes or 0):
            return self._max_seen(f"only {counted}, but a need beyond the request was seen")
        first = self._first_size(f"only {counted}")
        return first or _keep(self.ask, self.allowed, Reason.COLD_START, f"only {counted}")

    def _first_size(self, because: str) -> Decision | None:
        """The share of the request that the policy tries first; None where it is the request."""
        known, request_bytes = self.knowledge, self.ask.request_bytes
        if known.runs or known.paused or self.ask.limit_bytes is not None or request_bytes is None:
            return None  # a limit of its own above the request: its author expects more at times
        share_bytes = first_bytes(request_bytes, known.policy, known.max_need_bytes)
        if share_bytes is None or share_bytes >= request_bytes:
            return None
        clamped = self.allowed.clamp(share_bytes)
        if clamped.allocation_bytes >= request_bytes:
            return None
        why = f"{known.policy.first_size:.0%} of the request is tried first"
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.FIRST_SIZE,
            why=_sentence(because, why, clamped.note),
        )

    def _max_seen(self, because: str) -> Decision:
        """The largest need with headroom; ``because`` says why it comes to that, or nothing."""
        known = self.knowledge
        if known.max_need_bytes is None:
            return _keep(
                self.ask, self.allowed, Reason.KEPT, _sentence(because, "no need is known")
            )
        headroom = known.policy.headroom
        clamped = self.allowed.clamp(known.max_need_bytes * headroom)
        why = (
            f"{headroom:g} times the largest need seen "
            f"({words_for_bytes(known.max_need_bytes)}); {_counted(known)}"
        )
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.MAX_SEEN,
            why=_sentence(because, why, clamped.note),
        )

    def _by_rule(self, rule: Rule) -> Decision:
        known, ask = self.knowledge, self.ask
        bid_bytes = for_larger_request(
            rule.bid_bytes(ask.request_bytes, ask.features),
            ask.request_bytes,
            known.largest_request_bytes,
        )
        clamped = self.allowed.clamp(bid_bytes)
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.LEARNED,
            why=_sentence(f"{words_for_expert(known.champion)}; {_counted(known)}", clamped.note),
        )

    def _boosted(self) -> Decision:
        known = self.knowledge
        try:
            bid_bytes = boosted_bid_bytes(known.model, self.ask.features) if known.model else None
        except Exception as error:
            return self._max_seen(f"the model failed ({type(error).__name__})")
        if known.model is None or bid_bytes is None:
            return self._max_seen("there is no boosted model yet")
        clamped = self.allowed.clamp(bid_bytes)
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.PREDICTED,
            why=_sentence(f"{words_for_expert(BOOSTING)}; {_counted(known)}", clamped.note),
            model_version=known.model.version,
        )

    def _predicted(self) -> Decision:
        known = self.knowledge
        if known.model is None:
            return self._max_seen("there is no model yet")
        try:
            probabilities = known.model.probabilities(self.ask.features)
            choice = cheapest_ceiling(probabilities, known.model.bins, known.policy.penalty)
        except Exception as error:
            # Whatever is wrong with a model, the simple rule still serves the pod.
            return self._max_seen(f"the model failed ({type(error).__name__})")
        return self._allocated(choice, known.model)

    def _allocated(self, choice: Choice, model: Model) -> Decision:
        known = self.knowledge
        n_bins = len(model.bins)
        why = (
            f"bin {choice.bin + 1} of {n_bins} (up to {words_for_bytes(choice.ceiling_bytes)}): "
            f"{choice.probability:.0%} of its probability lies at or below; {_counted(known)}"
        )
        beyond_bytes = (known.max_need_bytes or 0) * known.policy.headroom
        note = ""
        if choice.bin == n_bins - 1 and beyond_bytes > choice.ceiling_bytes:
            # A kill since the training: the last bin has no upper end, its ceiling must follow.
            note = f"raised over the largest need seen, {words_for_bytes(beyond_bytes)}"
        clamped = self.allowed.clamp(max(choice.ceiling_bytes, beyond_bytes if note else 0))
        return Decision(
            allocation_bytes=clamped.allocation_bytes,
            reason=Reason.PREDICTED,
            why=_sentence(why, note, clamped.note),
            bin=choice.bin,
            probability=choice.probability,
            model_version=model.version,
        )


def _keep(ask: Ask, allowed: Range, reason: Reason, because: str) -> Decision:
    """The user's request as it is; above the cap the pod is left to its author and the cluster."""
    decision = Decision(allocation_bytes=None, reason=reason, why=because)
    if ask.request_bytes is None:
        return replace(decision, why=_sentence(because, "no request to keep, left as it is"))
    if allowed.exceeded_by(ask.request_bytes):
        left = f"its request is above {allowed.cap_words}, left as it is"
        return replace(decision, why=_sentence(because, left))
    clamped = allowed.admit(ask.request_bytes)
    kept = clamped.note or f"the request of {words_for_bytes(ask.request_bytes)} is kept"
    why = _sentence(because, kept)
    return replace(decision, allocation_bytes=clamped.allocation_bytes, why=why)


def _counted(known: Knowledge) -> str:
    return f"{known.runs} {'run' if known.runs == 1 else 'runs'} known"


def _sentence(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
