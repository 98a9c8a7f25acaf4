"""Past runs and sizers for the tests of the replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow

GB = 10**9
START_S = 1_700_000_000.0

BASE = TraceRow(
    line=2,
    run="r",
    task="t",
    item=None,
    submit_s=START_S,
    start_s=START_S,
    complete_s=START_S + 60,
    runtime_s=60.0,
    cpus=None,
    preset_bytes=8 * GB,
    input_bytes=None,
    peak_bytes=GB,
    features={},
)


@dataclass(frozen=True)
class RunBuilder:
    """A past run, a minute long and submitted when it starts; each step copies."""

    row: TraceRow = BASE

    def line(self, line: int) -> Self:
        return replace(self, row=replace(self.row, line=line))

    def of(self, task: str) -> Self:
        return replace(self, row=replace(self.row, task=task))

    def at(self, submit_s: float, start_s: float, complete_s: float) -> Self:
        """Seconds since START_S."""
        row = replace(
            self.row,
            submit_s=START_S + submit_s,
            start_s=START_S + start_s,
            complete_s=START_S + complete_s,
            runtime_s=complete_s - start_s,
        )
        return replace(self, row=row)

    def needing(self, peak_bytes: int) -> Self:
        return replace(self, row=replace(self.row, peak_bytes=peak_bytes))

    def asking(self, preset_bytes: int | None) -> Self:
        return replace(self, row=replace(self.row, preset_bytes=preset_bytes))


def a_run(line: int = 2) -> RunBuilder:
    return RunBuilder().line(line)


@dataclass
class Scripted:
    """A sizer that answers as it is told and writes down what it hears."""

    first: Callable[[Submitted], int] = lambda _: GB
    step: Callable[[int], int] = lambda failed_bytes: 2 * failed_bytes
    heard: list[tuple[str, int, float]] = field(default_factory=list)
    """Each call: its kind, the run's line, and seconds after START_S."""
    asked: list[object] = field(default_factory=list)

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        self.asked.append(asked)
        self._hear("decide", asked.line, now_s)
        return self.first(asked)

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, now_s: float, /) -> int:
        self.asked.append(asked)
        self._hear(f"lift {attempt}", asked.line, now_s)
        return self.step(failed_bytes)

    def failed(
        self, asked: Submitted, _allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        self.asked.append(asked)
        self._hear(f"failed {attempt}", asked.line, now_s)

    def completed(self, row: TraceRow, _allocation_bytes: int, now_s: float, /) -> None:
        self._hear("completed", row.line, now_s)

    def _hear(self, what: str, line: int, now_s: float) -> None:
        self.heard.append((what, line, now_s - START_S))
