"""A plan: tasks that wait for one another, as an engine tells it in JSON.

    {"within_s": 3600,
     "steps": [{"name": "extract", "task": "lab/extract", "elapsed_s": 120},
               {"name": "train", "task": "lab/train", "after": ["extract"], "wait_s": 30}]}

``within_s`` is how soon all must have ended, in seconds from now; it may be missing. A step waits
for those it comes ``after``, then ``wait_s`` more, to be queued, say. ``elapsed_s`` is how
long a step has run already. ``"ended": true`` marks a step that has ended.
"""

from __future__ import annotations

import graphlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_STEPS: Final = 1000
MOST_WAITS: Final = 10_000
"""Names in all steps' ``after`` together."""
MOST_NAME_CHARACTERS: Final = 512
_MOST_NAMED: Final = 10
_PLAN_KEYS: Final = frozenset({"within_s", "steps"})
_STEP_KEYS: Final = frozenset({"name", "task", "after", "wait_s", "elapsed_s", "ended"})


class PlanError(ValueError):
    """A plan that cannot be followed; the message names the step and says what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of a task within a plan.

    name: unique in its plan. task: whose forecast it goes by.
    after: names of the steps it waits for. A step that runs waits for none any more.
    wait_s: seconds between the end of the last of those and its own start.
    elapsed_s: how long it runs already; None if it has not started.
    ended: whether it has succeeded already.
    """

    name: str
    task: str
    after: tuple[str, ...] = ()
    wait_s: float = 0.0
    elapsed_s: float | None = None
    ended: bool = False

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The steps that still hold it back."""
        return () if self.ended or self.elapsed_s is not None else self.after


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, each one behind those it waits for, and within how many seconds all should end.

    Raises:
        PlanError: for no step, too many, a name given twice, an unknown one, or a circle.
    """

    steps: tuple[Step, ...]
    within_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _in_order(self.steps))

    @property
    def is_chain(self) -> bool:
        """Whether what is left runs one step after another, never two at once."""
        left = [step for step in self.steps if not step.ended]
        ended = {step.name for step in self.steps if step.ended}
        before: str | None = None
        for step in left:
            holding = set(step.waits_for) - ended
            if before is not None and before not in holding:
                return False
            before = step.name
        return True

    def to_dict(self) -> dict[str, Any]:
        """What ``read_plan`` reads."""
        written: dict[str, Any] = {"steps": [_step_to_dict(step) for step in self.steps]}
        if self.within_s is not None:
            written["within_s"] = self.within_s
        return written


def read_plan(written: object) -> Plan:
    """The plan in a parsed JSON document.

    Raises:
        PlanError: naming what is wrong and where.
    """
    document = _mapping(written, "a plan", _PLAN_KEYS)
    steps = document.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise PlanError('a plan needs "steps": a list of {"name": …, "task": …}')
    if len(steps) > MOST_STEPS:
        raise _too_many(len(steps))
    read = tuple(_read_step(step, place) for place, step in enumerate(steps, start=1))
    return Plan(read, _seconds(document, "within_s", "the plan"))


def _read_step(written: object, place: int) -> Step:
    document = _mapping(written, f"step {place}", _STEP_KEYS)
    name = _text(document.get("name"), f"step {place}: its name")
    where = f"step {name!r}"
    after = document.get("after", [])
    if not isinstance(after, Sequence) or isinstance(after, str):
        raise PlanError(f"{where}: after is {type(after).__name__}; write a list of steps' names")
    if len(after) > MOST_STEPS:
        raise PlanError(f"{where}: comes after {len(after)} steps; name at most {MOST_STEPS}")
    ended = document.get("ended", False)
    if not isinstance(ended, bool):
        raise PlanError(f"{where}: ended is {type(ended).__name__}; write true or false")
    return Step(
        name=name,
        task=_text(document.get("task"), f"{where}: its task"),
        after=tuple(_text(other, f"{where}: a name in after") for other in after),
        wait_s=_seconds(document, "wait_s", where) or 0.0,
        elapsed_s=_seconds(document, "elapsed_s", where),
        ended=ended,
    )


def _step_to_dict(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {"name": step.name, "task": step.task}
    if step.after:
        written["after"] = list(step.after)
    if step.wait_s:
        written["wait_s"] = step.wait_s
    if step.elapsed_s is not None:
        written["elapsed_s"] = step.elapsed_s
    if step.ended:
        written["ended"] = True
    return written


def _mapping(written: object, what: str, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(written, Mapping):
        raise PlanError(f"{what} is {type(written).__name__}; write a JSON object")
    unknown = sorted(str(key)[:MOST_NAME_CHARACTERS] for key in written if key not in known)
    if unknown:
        raise PlanError(
            f"{what}: {unknown[0]!r} is not known; known are {', '.join(sorted(known))}"
        )
    return written


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_NAME_CHARACTERS:
        raise PlanError(f"{what} is missing or no text of 1 to {MOST_NAME_CHARACTERS} characters")
    return value


def _seconds(document: Mapping[str, Any], key: str, what: str) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanError(f"{what}: {key} is {type(value).__name__}; write a number of seconds")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not 0 <= seconds < math.inf:
        raise PlanError(f"{what}: {key} is {seconds}; write seconds, 0 or more")
    return seconds


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, each behind those it comes after; among equals in the order given."""
    if not 0 < len(steps) <= MOST_STEPS:
        raise _too_many(len(steps))
    named: dict[str, Step] = {}
    for step in steps:
        if step.name in named:
            raise PlanError(f"step {step.name!r} is told twice; give each a name of its own")
        named[step.name] = step
    _refuse_unknown(named)
    waiting = graphlib.TopologicalSorter({step.name: step.after for step in steps})
    try:
        return tuple(named[name] for name in waiting.static_order())
    except graphlib.CycleError as error:
        circle = " → ".join(reversed(error.args[1][:_MOST_NAMED]))
        raise PlanError(f"steps wait for one another in a circle: {circle}") from error


def _refuse_unknown(named: Mapping[str, Step]) -> None:
    waits = sum(len(step.after) for step in named.values())
    if waits > MOST_WAITS:
        raise PlanError(f"steps wait for {waits} others in all; write at most {MOST_WAITS}")
    for step in named.values():
        for name in step.after:
            if name not in named:
                raise PlanError(f"step {step.name!r} comes after {name!r}, which is no step here")


def _too_many(steps: int) -> PlanError:
    return PlanError(f"a plan of {steps} steps; write 1 to {MOST_STEPS}")
