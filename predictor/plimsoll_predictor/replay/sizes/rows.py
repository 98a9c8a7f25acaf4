"""One past run of a trace, and the part of it that is known before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from plimsoll_predictor.core.record import FeatureValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A run when its size is decided, before it starts.

    A policy under replay gets only this, so it cannot look ahead.

    line: in the trace, where 1 is the header; it identifies the run.
    run: the execution of the workflow that it belongs to.
    item: the sample, partition or date that it works on; None if the trace does not say.
    preset_bytes: the memory that its author asks for; None without a request.
    features: the trace's further columns that were known before the run.
    """

    line: int
    run: str
    task: str
    item: str | None
    submit_s: float
    cpus: float | None
    preset_bytes: int | None
    input_bytes: int | None
    features: Mapping[str, FeatureValue]


_SUBMITTED: Final = tuple(each.name for each in fields(Submitted))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow(Submitted):
    """One past run. Times in Unix seconds, submit_s <= start_s <= complete_s.

    runtime_s: seconds it held its memory, 0 or more. peak_bytes: the memory that it needed, above
    zero. asked: the part that is known before it starts.
    """

    start_s: float
    complete_s: float
    runtime_s: float
    peak_bytes: int
    asked: Submitted = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        asked = Submitted(**{name: getattr(self, name) for name in _SUBMITTED})
        object.__setattr__(self, "asked", asked)
