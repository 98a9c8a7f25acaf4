"""Finds what would change a task's size: decides again with one thing changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any, Final

from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.deciding.clamping import Range
from plimsoll_predictor.deciding.lift_reasons import lift_reasons
from plimsoll_predictor.deciding.lifting import FailedAttempt, Leaking, next_allocation
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN

LEAST_DIFFERENCE: Final = 0.01
"""Two sizes that differ by less count as the same."""
PENALTIES: Final = (1.0, 10.0, 100.0)
OVERHEADS_S: Final = (240.0, 2400.0, 24_000.0)
HEADROOMS: Final = (1.0, 1.5)
FACTORS: Final = (0.5, 2.0)
MOST_FEATURES: Final = 8
MOST_VALUES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One run as it would be decided now.

    bounds, lift_bounds: for its first attempt, and for the one after a kill at its request or
    above. values: feature -> values that the latest runs had, the commonest first.
    standing, pool: the task's experts; None if the store knows none.
    """

    ask: Ask
    knowledge: Knowledge
    bounds: Bounds = field(default_factory=Bounds)
    lift_bounds: Bounds = field(default_factory=Bounds)
    values: Mapping[str, Sequence[FeatureValue]] = field(default_factory=dict)
    standing: Standing | None = None
    pool: Pool | None = None

    def with_policy(self, **changes: Any) -> Situation:
        """The same situation under another policy."""
        policy = replace(self.knowledge.policy, **changes)
        return replace(self, knowledge=replace(self.knowledge, policy=policy))

    def decided(self) -> Decision:
        """The decision for the run, as if it were enforced and not paused."""
        free = self.with_policy(mode=Mode.ENFORCE, paused=False)
        return decide(free.ask, free.knowledge, free.bounds)

    @property
    def size_bytes(self) -> int | None:
        """The memory that the run would have; None if it asks for nothing and gets nothing."""
        allocation_bytes = self.decided().allocation_bytes
        return self.ask.request_bytes if allocation_bytes is None else allocation_bytes


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One change and the size with it. change: in words, such as "without max 64Gi"."""

    change: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The size that a run would get now, and what would change that.

    applied: None if pods get this size; else why they do not, and what would change that.
    after_kill: the step after an OOM kill at that size. assumed: parts that could not be read, in
    words, or None.
    """

    size_bytes: int | None
    reason: Reason
    why: str
    applied: str | None
    after_kill: str
    changes: tuple[Counterfactual, ...]
    assumed: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "size_bytes": self.size_bytes,
            "reason": self.reason.value,
            "why": self.why,
            "not_applied": self.applied,
            "after_kill": self.after_kill,
            "if": [asdict(each) for each in self.changes],
            "assumed": self.assumed,
        }


def outlook_of(now: Situation, assumed: str | None = None) -> Outlook:
    """Decide a situation and its alternatives."""
    decision, size_bytes = now.decided(), now.size_bytes
    changes: dict[str, Counterfactual] = {}
    for change, otherwise in _alternatives(now, decision):
        then_bytes = otherwise.size_bytes
        if differs(size_bytes, then_bytes):
            changes.setdefault(change, Counterfactual(change, then_bytes))
    return Outlook(
        size_bytes=size_bytes,
        reason=decision.reason,
        why=decision.why,
        applied=_applied(now.knowledge.policy),
        after_kill=_after_kill(now, size_bytes),
        changes=tuple(changes.values()),
        assumed=assumed,
    )


def differs(one_bytes: int | None, other_bytes: int | None) -> bool:
    """Whether two sizes differ enough for people to care."""
    if one_bytes is None or other_bytes is None:
        return one_bytes is not other_bytes
    return abs(one_bytes - other_bytes) > LEAST_DIFFERENCE * max(one_bytes, other_bytes)


def _alternatives(now: Situation, decision: Decision) -> Iterator[tuple[str, Situation]]:
    yield from _of_runs(now)
    if now.knowledge.shown.floor_bytes:
        quiet = replace(now, knowledge=replace(now.knowledge, shown=NOTHING_SHOWN))
        yield "without what running attempts have reached", quiet
    yield from _of_bounds(now)
    yield from _of_risk(now, decision)
    yield from _of_features(now)
    yield from _of_request(now)


def _of_runs(now: Situation) -> Iterator[tuple[str, Situation]]:
    policy, runs = now.knowledge.policy, now.knowledge.runs
    if 0 < runs < policy.min_runs:
        more = policy.min_runs - runs
        words = f"with {more} more {'run' if more == 1 else 'runs'} (minRuns {policy.min_runs})"
        yield words, now.with_policy(min_runs=1)


def _of_bounds(now: Situation) -> Iterator[tuple[str, Situation]]:
    policy, bounds = now.knowledge.policy, now.bounds
    if policy.max_bytes is not None:
        yield f"without max {words_for_bytes(policy.max_bytes)}", now.with_policy(max_bytes=None)
    yield f"without min {words_for_bytes(policy.min_bytes)}", now.with_policy(min_bytes=1)
    if bounds.cap_bytes is not None:
        cap = words_for_bytes(bounds.cap_bytes)
        free = replace(now, bounds=replace(bounds, cap_bytes=None))
        yield f"without the LimitRange's maximum {cap}", free
    if bounds.room_bytes is not None:
        room = words_for_bytes(bounds.room_bytes)
        free = replace(now, bounds=replace(bounds, room_bytes=None))
        yield f"without {bounds.room_of}, {room}", free
    if bounds.floor_bytes is not None:
        floor = words_for_bytes(bounds.floor_bytes)
        free = replace(now, bounds=replace(bounds, floor_bytes=None))
        yield f"without the LimitRange's least {floor}", free


def _of_risk(now: Situation, decision: Decision) -> Iterator[tuple[str, Situation]]:
    policy, knowledge = now.knowledge.policy, now.knowledge
    if knowledge.champion == CLASSIFIER:
        for penalty in PENALTIES:
            yield f"at risk.penalty {penalty:g}", now.with_policy(penalty=penalty)
    for overhead_s in OVERHEADS_S:
        if now.standing is not None and now.pool is not None and overhead_s != policy.overhead_s:
            yield f"at risk.overheadSeconds {overhead_s:g}", _repriced(now, overhead_s)
    if decision.reason is Reason.MAX_SEEN:
        for headroom in HEADROOMS:
            yield f"at headroom {headroom:g}", now.with_policy(headroom=headroom)


def _repriced(now: Situation, overhead_s: float) -> Situation:
    """The experts bid anew at another price of a failure; their costs so far stay."""
    if now.standing is None or now.pool is None:
        return now
    standing = Standing.from_dict(now.standing.to_dict())
    standing.refresh(now.pool, overhead_s)
    priced = now.with_policy(overhead_s=overhead_s)
    informed = standing.inform(priced.knowledge)
    return replace(
        priced,
        knowledge=replace(priced.knowledge, champion=informed.champion, rule=informed.rule),
    )


def _of_features(now: Situation) -> Iterator[tuple[str, Situation]]:
    for name, value in islice(now.ask.features.items(), MOST_FEATURES):
        if isinstance(value, str):
            for other in islice((v for v in now.values.get(name, ()) if v != value), MOST_VALUES):
                yield f"if {name} were {_shown(other)}, not {value[:40]}", _with(now, name, other)
        else:
            for factor in FACTORS:
                words = f"if {name} were {_shown(value * factor)}, not {_shown(value)}"
                yield words, _with(now, name, value * factor)
        without = dict(now.ask.features)
        del without[name]
        yield f"if {name} were not said", replace(now, ask=replace(now.ask, features=without))


def _with(now: Situation, name: str, value: FeatureValue) -> Situation:
    return replace(now, ask=replace(now.ask, features={**now.ask.features, name: value}))


def _of_request(now: Situation) -> Iterator[tuple[str, Situation]]:
    asked = now.ask.request_bytes
    for factor in FACTORS if asked is not None else ():
        other = round((asked or 0) * factor)
        words = f"if it asked for {words_for_bytes(other)}"
        yield words, replace(now, ask=replace(now.ask, request_bytes=other))


def _shown(value: FeatureValue) -> str:
    return value[:40] if isinstance(value, str) else f"{value:g}"


def _applied(policy: Policy) -> str | None:
    if policy.paused:
        return "it is paused, so pods start as they are written; `plimsoll resume` ends that"
    if policy.mode is Mode.OFF:
        return "its mode is off, so nothing is decided; set recommend or enforce"
    if policy.mode is Mode.RECOMMEND:
        return "its mode is recommend, so this is only written down; set enforce to apply it"
    return None


def _after_kill(now: Situation, size_bytes: int | None) -> str:
    if size_bytes is None:
        return "nothing: without an allocation there is no limit of ours to raise"
    failed = FailedAttempt(
        killed_at_bytes=size_bytes,
        attempt=1,
        request_bytes=now.ask.request_bytes,
        attempts_left=now.knowledge.policy.max_lifts,
    )
    bounds = now.lift_bounds if size_bytes >= (now.ask.request_bytes or 0) else now.bounds
    lift = next_allocation(failed, now.knowledge, bounds)
    if isinstance(lift, Leaking):
        return f"no further attempt is worth it: {lift.reason}"
    if lift.as_written:
        return "the next attempt gets what was written"
    cap = Range.of(now.knowledge.policy, bounds, now.ask.request_bytes).cap_words
    at_cap = f", {cap}" if lift.allocation_bytes in (bounds.cap_bytes, bounds.room_bytes) else ""
    because = lift_reasons(lift, failed, now.knowledge, bounds)
    words = f"the next attempt gets {words_for_bytes(lift.allocation_bytes)}{at_cap}"
    return f"{words}; {because}" if because else words
