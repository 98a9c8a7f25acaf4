"""Plimsoll under replay: with and without its eye for change, and with a new image as a sign."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum

from plimsoll_predictor.experts.drift import Drift
from plimsoll_predictor.experts.standing import Ended, Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs


class Eye(StrEnum):
    """What a fleet sees of change."""

    NONE = "none"
    """Nothing: every run counts for ever."""
    LEVELS = "levels"
    """The levels of needs, like the product if no image is new."""
    IMAGES = "levels + image"
    """Also that the runs after the change have another image."""


class _Blind(Drift):
    def shifted(self, needs_bytes: object, explained: object = None) -> int | None:  # noqa: ARG002
        return None


class WatchedFleet(TaskStandings):
    """A fleet that counts when its tasks were seen to change.

    noticed: task -> how many of its runs had been learned at each shift of level.
    """

    def __init__(self, eye: Eye) -> None:
        super().__init__()
        self._eye = eye
        self.version = ""
        self.learned: dict[str, int] = {}
        self.noticed: dict[str, list[int]] = {}

    def standing(self, task: str) -> Standing:
        """The task's standing; without an eye for change if that is measured."""
        if self._eye is Eye.NONE and self.get(task) is None:
            self._standings[task] = Standing(drift=_Blind())
        return super().standing(task)

    def learn(self, task: str, ended: Ended) -> None:
        """Learn a run and note whether it showed a shift."""
        version = self.version if self._eye is Eye.IMAGES else ""
        before = self.standing(task).drift.shifts
        super().learn(task, replace(ended, version=version))
        self.learned[task] = self.learned.get(task, 0) + 1
        if self.standing(task).drift.shifts > before:
            self.noticed.setdefault(task, []).append(self.learned[task])


class ShiftSizer(ProductSizer):
    """The product's sizer over a watched fleet. after: lines of the runs of a changed task."""

    def __init__(self, eye: Eye, after: Collection[int]) -> None:
        super().__init__(Knobs())
        self.fleet = self._standings = WatchedFleet(eye)
        self._after = after

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Do as the product does, with the run's image."""
        self.fleet.version = "after" if row.line in self._after else "before"
        super().completed(row, allocation_bytes, now_s)
