"""What moved forecasts beyond the past, as a document. Page and CLI read it without any library.

``explaining`` computes it, off the serving path. A contribution is a Shapley value: how far a
feature moves the middle of a run's own forecast within the mixture's, +.1 from the median to the
60th of 100. All features together add up to this run's distance from the usual forecast.
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
MOST_EFFECTS: Final = 12
MOST_TASKS: Final = 300
MOST_REASONS: Final = 5
_LETTERS: Final = 300
_LEAST_TOLD: Final = 0.005

Text: TypeAlias = Annotated[str, Meta(max_length=_LETTERS)]


class FeatureExplanationError(ValueError):
    """A document is no explanation of features; fit them anew."""


@dataclass(frozen=True, slots=True)
class FeatureEffect:
    """One feature over all rows: the mean of its |contribution|."""

    feature: Text
    importance: Finite


@dataclass(frozen=True, slots=True)
class FeatureReason:
    """One feature of a task's newest run, and its contribution: above 0 makes it longer."""

    feature: Text
    contribution: Finite

    @property
    def words(self) -> str:
        """A few words."""
        return f"{self.feature}: {'longer' if self.contribution > 0 else 'shorter'}"


@dataclass(frozen=True, slots=True)
class TaskReasons:
    """What moved the forecast of one task's newest run, the strongest first."""

    task: Text
    reasons: Annotated[tuple[FeatureReason, ...], Meta(max_length=MOST_REASONS)]

    @property
    def words(self) -> str:
        """One sentence; empty if nothing moved it enough to be reported."""
        told = [each for each in self.reasons if abs(each.contribution) >= _LEAST_TOLD]
        return "; ".join(each.words for each in told)


@dataclass(frozen=True, slots=True)
class FeatureExplanation:
    """Over all rows, and task by task. rows: how many it was computed from."""

    rows: Count
    effects: Annotated[tuple[FeatureEffect, ...], Meta(max_length=MOST_EFFECTS)]
    tasks: Annotated[tuple[TaskReasons, ...], Meta(max_length=MOST_TASKS)]

    def of_task(self, task: str) -> TaskReasons | None:
        """A task's own reasons; None if it is not among those explained."""
        return next((each for each in self.tasks if each.task == task), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads them."""
        return {"format": FORMAT, **to_document(self)}

    @classmethod
    def from_dict(cls, document: object) -> FeatureExplanation:
        """Read what ``to_dict`` wrote.

        Raises:
            FeatureExplanationError: naming what is missing, wrong or too much.
        """
        check_format(document, FORMAT, "an explanation of features", FeatureExplanationError)
        return from_document(cls, document, "an explanation of features", FeatureExplanationError)
