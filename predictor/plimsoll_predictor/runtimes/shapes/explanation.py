"""Why a shape was forecast, as a document. Page and CLI read it without any library.

``explaining`` computes it (the paper's section 6), off the serving path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from plimsoll_predictor.core.documents import (
    Count,
    Finite,
    check_format,
    from_document,
    to_document,
)

FORMAT: Final = 1
MOST_EFFECTS: Final = 40
MOST_TASKS: Final = 500
MOST_REASONS: Final = 10
MOST_POINTS: Final = 400
MOST_LETTERS: Final = 300

Text: TypeAlias = Annotated[str, Meta(max_length=MOST_LETTERS)]
Point: TypeAlias = tuple[Finite | None, Finite]


class ExplanationError(ValueError):
    """A document is no explanation; compute it anew."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One feature over all rows.

    importance: mean |Shapley value| over rows and shapes, in log odds. shape: where it moves most.
    rises: higher values make that shape likelier; None if neither higher nor lower ones alone do.
    points: up to MOST_POINTS (value, Shapley value for ``shape``), None if a value is missing.
    """

    feature: Text
    importance: Finite
    shape: Text
    rises: bool | None
    words: Text
    points: Annotated[tuple[Point, ...], Meta(max_length=MOST_POINTS)]


@dataclass(frozen=True, slots=True)
class Reason:
    """One feature of one task: its value (None: missing) and Shapley value for the task's shape."""

    feature: Text
    value: Finite | None
    contribution: Finite
    words: Text


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Why one task's next runs are expected to have a shape: the strongest reasons first."""

    task: Text
    shape: Text
    probability: Finite
    reasons: Annotated[tuple[Reason, ...], Meta(max_length=MOST_REASONS)]

    @property
    def words(self) -> str:
        """One sentence."""
        reasons = "; ".join(reason.words for reason in self.reasons)
        return f"{self.shape} ({self.probability:.0%}): {reasons}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Over all tasks, and task by task. rows: how many it was computed from."""

    rows: Count
    effects: Annotated[tuple[Effect, ...], Meta(max_length=MOST_EFFECTS)]
    tasks: Annotated[tuple[TaskExplanation, ...], Meta(max_length=MOST_TASKS)]

    def of_task(self, task: str) -> TaskExplanation | None:
        """A task's own explanation; None if it is not among those explained."""
        return next((each for each in self.tasks if each.task == task), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads them."""
        return {"format": FORMAT, **to_document(self)}

    @classmethod
    def from_dict(cls, document: object) -> Explanation:
        """Read what ``to_dict`` wrote, or the same after a round trip through JSON.

        Raises:
            ExplanationError: naming what is missing, wrong or too much.
        """
        check_format(document, FORMAT, "an explanation", ExplanationError)
        return from_document(cls, document, "an explanation", ExplanationError)
