"""One past run of a trace, and the part of it that is known before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from plimsoll_predictor.core.record import FeatureValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What is known of a run when its size is decided; nothing of how it went.

    A policy under replay is handed only this, so it cannot look ahead.
    """

    line: int
    """Where it stands in the trace, 1 being the header: identifies the run."""
    run: str
    """Which execution of the workflow it belongs to."""
    task: str
    item: str | None
    """What it works on: a sample, a partition, a date; None if the trace does not say."""
    submit_s: float
    cpus: float | None
    preset_bytes: int | None
    """What its author asks for; None if they ask for nothing."""
    input_bytes: int | None
    features: Mapping[str, FeatureValue]
    """The trace's further columns that were known before the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One past run. Times in Unix seconds, submit_s <= start_s <= complete_s."""

    line: int
    run: str
    task: str
    item: str | None
    submit_s: float
    start_s: float
    complete_s: float
    runtime_s: float
    """Seconds it held its memory: above zero or zero."""
    cpus: float | None
    preset_bytes: int | None
    input_bytes: int | None
    peak_bytes: int
    """What it needed; above zero."""
    features: Mapping[str, FeatureValue]
    asked: Submitted = field(init=False, compare=False, repr=False)
    """The part known before it starts."""

    def __post_init__(self) -> None:
        asked = Submitted(
            line=self.line,
            run=self.run,
            task=self.task,
            item=self.item,
            submit_s=self.submit_s,
            cpus=self.cpus,
            preset_bytes=self.preset_bytes,
            input_bytes=self.input_bytes,
            features=self.features,
        )
        object.__setattr__(self, "asked", asked)
