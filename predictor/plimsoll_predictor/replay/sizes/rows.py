"""One past run of a trace, and the part of it that is known before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from plimsoll_predictor.core.record import FeatureValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A run when its size is decided: nothing says yet how it went.

    A policy under replay is handed only this, so it cannot look ahead.
    """

    line: int
    """The line of the trace, 1 being the header, which identifies the run."""
    run: str
    """Which execution of the workflow it belongs to."""
    task: str
    item: str | None
    """The sample, partition or date that it works on; None if the trace does not say."""
    submit_s: float
    cpus: float | None
    preset_bytes: int | None
    """The memory that its author asks for; None if they ask for nothing."""
    input_bytes: int | None
    features: Mapping[str, FeatureValue]
    """The trace's further columns that were known before the run."""


_SUBMITTED: Final = tuple(each.name for each in fields(Submitted))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow(Submitted):
    """One past run. Times in Unix seconds, submit_s <= start_s <= complete_s."""

    start_s: float
    complete_s: float
    runtime_s: float
    """Seconds it held its memory: above zero or zero."""
    peak_bytes: int
    """The memory that it needed; above zero."""
    asked: Submitted = field(init=False, compare=False, repr=False)
    """The part known before it starts."""

    def __post_init__(self) -> None:
        asked = Submitted(**{name: getattr(self, name) for name in _SUBMITTED})
        object.__setattr__(self, "asked", asked)
