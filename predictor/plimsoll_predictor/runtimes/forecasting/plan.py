"""A plan: tasks that wait for one another, as an engine writes it in JSON.

    {"within_s": 3600,
     "steps": [{"name": "extract", "task": "lab/extract", "elapsed_s": 120},
               {"name": "train", "task": "lab/train", "after": ["extract"], "wait_s": 30}]}

``within_s`` is how soon all must have ended, in seconds from now; it may be missing. A step waits
for the steps in ``after``, then ``wait_s`` more, for instance in a queue. ``elapsed_s`` is how long
a step has already run. ``"ended": true`` marks a step that has ended.
"""

from __future__ import annotations

import graphlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_predictor.core.units import DAY_S

MOST_STEPS: Final = 1000
MOST_WAITS: Final = 10_000
"""Names in all steps' ``after`` together."""
MOST_NAME_CHARACTERS: Final = 512
MOST_SECONDS: Final = 100 * 365 * DAY_S
"""A hundred years: sums of such times are still numbers."""
_MOST_NAMED: Final = 10
_PLAN_KEYS: Final = frozenset({"within_s", "steps"})
_STEP_KEYS: Final = frozenset({"name", "task", "after", "wait_s", "elapsed_s", "ended"})


class PlanError(ValueError):
    """A plan that cannot be followed; the message names the step and says what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of a task within a plan.

    name: unique in its plan. after: names of the steps it waits for.
    wait_s: seconds between the end of the last of those and its own start.
    elapsed_s: how long it has run; None if it has not started. ended: whether it has succeeded.
    """

    name: str
    task: str
    after: tuple[str, ...] = ()
    wait_s: float = 0.0
    elapsed_s: float | None = None
    ended: bool = False

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The steps that still hold it back: none after it has started."""
        return () if self.ended or self.elapsed_s is not None else self.after


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, each after those it waits for, and the seconds within which all should end.

    Raises:
        PlanError: for no step or too many, a repeated or unknown name, or a circle.
    """

    steps: tuple[Step, ...]
    within_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _in_order(self.steps))

    @property
    def is_chain(self) -> bool:
        """Whether the rest runs one step after another, never two at once."""
        left = [step for step in self.steps if not step.ended]
        return all(before.name in step.waits_for for before, step in itertools.pairwise(left))


def read_plan(written: object) -> Plan:
    """The plan in a parsed JSON document; PlanError names the fault and its place."""
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


def _mapping(written: object, where: str, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(written, Mapping):
        raise PlanError(f"{where} is {type(written).__name__}; write a JSON object")
    unknown = sorted(str(key)[:MOST_NAME_CHARACTERS] for key in written if key not in keys)
    if unknown:
        raise PlanError(
            f"{where}: {unknown[0]!r} is not known; known are {', '.join(sorted(keys))}"
        )
    return written


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_NAME_CHARACTERS:
        raise PlanError(f"{name} is missing or no text of 1 to {MOST_NAME_CHARACTERS} characters")
    return value


def _seconds(document: Mapping[str, Any], key: str, where: str) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanError(f"{where}: {key} is {type(value).__name__}; write a number of seconds")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not 0 <= seconds <= MOST_SECONDS:
        raise PlanError(
            f"{where}: {key} is {seconds}; write seconds, 0 or more, a hundred years at most"
        )
    return seconds


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, each after those it waits for; otherwise in the order given."""
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
