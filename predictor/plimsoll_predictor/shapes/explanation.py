"""Why a shape was foretold, as a document: read by page and CLI, no library needed.

``explaining`` computes it (the paper's section 6), away from what serves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

FORMAT: Final = 1
MOST_EFFECTS: Final = 40
MOST_TASKS: Final = 500
MOST_REASONS: Final = 10
MOST_POINTS: Final = 400
MOST_LETTERS: Final = 300


class ExplanationError(ValueError):
    """What was read is no explanation; compute it anew."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One feature over all rows.

    importance: mean |Shapley value| over rows and shapes, in log odds. shape: where it moves most.
    rises: higher values make that shape likelier; None: neither higher nor lower ones do, alone.
    points: up to MOST_POINTS (value, Shapley value for ``shape``), None where a value is missing.
    """

    feature: str
    importance: float
    shape: str
    rises: bool | None
    words: str
    points: tuple[tuple[float | None, float], ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One feature of one task: its value (None: missing) and Shapley value for the task's shape."""

    feature: str
    value: float | None
    contribution: float
    words: str


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why one task's next runs are foretold a shape: the strongest reasons first."""

    task: str
    shape: str
    probability: float
    reasons: tuple[Reason, ...]

    @property
    def words(self) -> str:
        """One sentence."""
        told = "; ".join(reason.words for reason in self.reasons)
        return f"{self.shape} ({self.probability:.0%}): {told}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Over all tasks, and task by task. rows: how many it was computed from."""

    rows: int
    effects: tuple[Effect, ...]
    tasks: tuple[TaskExplanation, ...]

    def of_task(self, task: str) -> TaskExplanation | None:
        """A task's own; None if it is not among those explained."""
        return next((each for each in self.tasks if each.task == task), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads them."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, document: object) -> Explanation:
        """An explanation from what ``to_dict`` wrote, or the same as JSON gives it back.

        Raises:
            ExplanationError: naming what is missing, wrong or too much.
        """
        fields = _fields(document, "an explanation")
        if fields.get("format") != FORMAT:
            raise ExplanationError(
                f"an explanation in format {str(fields.get('format'))[:20]}; this Plimsoll reads "
                f"format {FORMAT}"
            )
        return cls(
            rows=int(_number(fields.get("rows"), "rows")),
            effects=tuple(map(_effect, _list(fields.get("effects"), "effects", MOST_EFFECTS))),
            tasks=tuple(map(_task, _list(fields.get("tasks"), "tasks", MOST_TASKS))),
        )


def _effect(document: object) -> Effect:
    fields = _fields(document, "an effect")
    rises = fields.get("rises")
    if rises is not None and not isinstance(rises, bool):
        raise ExplanationError(f"'rises' is {str(rises)[:40]}, not true, false or null")
    points = _list(fields.get("points"), "points", MOST_POINTS)
    return Effect(
        feature=_text(fields.get("feature"), "feature"),
        importance=_number(fields.get("importance"), "importance"),
        shape=_text(fields.get("shape"), "shape"),
        rises=rises,
        words=_text(fields.get("words"), "words"),
        points=tuple(_point(point) for point in points),
    )


def _point(document: object) -> tuple[float | None, float]:
    if not isinstance(document, Sequence) or isinstance(document, str) or len(document) != 2:
        raise ExplanationError("a point is no pair of a value and a contribution")
    return _maybe(document[0], "value"), _number(document[1], "contribution")


def _task(document: object) -> TaskExplanation:
    fields = _fields(document, "a task's explanation")
    return TaskExplanation(
        task=_text(fields.get("task"), "task"),
        shape=_text(fields.get("shape"), "shape"),
        probability=_number(fields.get("probability"), "probability"),
        reasons=tuple(map(_reason, _list(fields.get("reasons"), "reasons", MOST_REASONS))),
    )


def _reason(document: object) -> Reason:
    fields = _fields(document, "a reason")
    return Reason(
        feature=_text(fields.get("feature"), "feature"),
        value=_maybe(fields.get("value"), "value"),
        contribution=_number(fields.get("contribution"), "contribution"),
        words=_text(fields.get("words"), "words"),
    )


def _fields(document: object, what: str) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise ExplanationError(f"{what} is {type(document).__name__}, not an object of fields")
    return document


def _list(value: object, key: str, most: int) -> Sequence[object]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise ExplanationError(f"{key!r} is no list of at most {most}")
    return value


def _text(value: object, key: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_LETTERS:
        raise ExplanationError(f"{key!r} is no text of at most {MOST_LETTERS} letters")
    return value


def _maybe(value: object, key: str) -> float | None:
    return None if value is None else _number(value, key)


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ExplanationError(f"{key!r} holds {str(value)[:40]}, not a finite number")
    return float(value)
