"""An answer to a what-if: the change of each measure, and the runs behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from plimsoll_predictor.core.units import DAY_S, HOUR_S, counted
from plimsoll_predictor.runtimes.shapes.variation_summary import RuntimeSummary
from plimsoll_predictor.runtimes.what_if.change import Direction, Evidence, MeasureChange
from plimsoll_predictor.runtimes.what_if.contrast import HeldOut
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.time_blocks import FEWEST_BLOCKS

_BLOCKS: Final = {
    7 * DAY_S: ("week", "weeks"),
    DAY_S: ("day", "days"),
    6 * HOUR_S: ("quarter of a day", "quarters of a day"),
    HOUR_S: ("hour", "hours"),
}
_LIKE_WITH_LIKE: Final = (
    "This says what went along with it, not what caused it: whatever else differed between these "
    "runs within the same {block} counts too."
)
_SIZED: Final = (
    "Runs that are expected to need more are given more memory: a longer runtime with more memory "
    "need not come from the memory."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Runs of both sides, and how many of them are in blocks of time that hold both.

    untold: runs whose side is unknown. block_s: the length of a block; None if there is none.
    """

    as_asked: int
    otherwise: int
    untold: int
    compared_as_asked: int
    compared_otherwise: int
    blocks: int
    block_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The changes under a scenario.

    changes: one per measure, in the order of ``measures.MEASURES``.
    now, then: how all runs otherwise and all runs as asked vary; None if there are none.
    """

    scenario: Scenario
    counts: Counts
    changes: tuple[MeasureChange, ...]
    held_out: HeldOut
    now: RuntimeSummary | None
    then: RuntimeSummary | None

    @property
    def words(self) -> tuple[str, ...]:
        """The answer in sentences; the first says which runs were compared."""
        return tuple(sentence for sentence, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, MeasureChange | None]]:
        """Each sentence of the answer, with the change that it states; None if it states none."""
        yield from ((sentence, None) for sentence in self._comparison())
        if self._is_told:
            yield from (
                (f"{change.words[0].upper()}{change.words[1:]}.", change) for change in self.changes
            )
        yield from ((sentence, None) for sentence in self._remarks())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with the sentences."""
        return {
            "scenario": {part: getattr(self.scenario, part) for part in self.scenario.parts},
            "counts": asdict(self.counts),
            "changes": [change.to_dict() for change in self.changes],
            "held_out": asdict(self.held_out),
            "now": self.now.to_dict() if self.now else None,
            "then": self.then.to_dict() if self.then else None,
            "words": list(self.words),
        }

    @property
    def _is_told(self) -> bool:
        """Whether the runs suffice to state any change."""
        return any(change.direction is not Direction.TOO_FEW for change in self.changes)

    @property
    def _others(self) -> int:
        """How many other tasks of the owner the answer uses."""
        return max((change.tasks for change in self.changes), default=0)

    def _comparison(self) -> Iterator[str]:
        counts = self.counts
        yield self._compared()
        if counts.untold:
            unrecorded = self.scenario.unrecorded
            yield f"{_runs(counts.untold)} of which nobody recorded {unrecorded} are left out."
        if self._others:
            yield self._widened(self._others)

    def _remarks(self) -> Iterator[str]:
        if self.now and self.then and self._is_told:
            yield f"Now: {self.now.words}. Runs {self.scenario.words}: {self.then.words}."
        if self.held_out.checked:
            yield (
                "Checked on the half of the time that was left out, either way: "
                f"{self.held_out.within} of {self.held_out.checked} intervals agreed."
            )
        if self._is_told:
            yield "In brackets: 95% intervals, from leaving out one stretch of time after another."
            yield _LIKE_WITH_LIKE.format(block=self._block(1))
        if self._is_told and self.scenario.memory_bytes is not None:
            yield _SIZED

    def _compared(self) -> str:
        counts, asked, otherwise = self.counts, self.scenario.words, self.scenario.otherwise
        if not counts.as_asked and self._others:
            return f"No run of this task {asked} is known."
        if not counts.as_asked:
            return f"No run {asked} is known: nothing to compare."
        if not counts.otherwise:
            ran = f"All {_runs(counts.as_asked)} known ran {asked} already"
            return f"{ran}." if self._others else f"{ran}: nothing to compare."
        if not counts.blocks:
            return (
                f"{_runs(counts.as_asked)} {asked} and {_runs(counts.otherwise)} {otherwise} were "
                "never within the same week: what else changed between cannot be told apart."
            )
        compared = (
            f"{_runs(counts.compared_as_asked)} {asked} against "
            f"{counts.compared_otherwise:,} {otherwise} in the same {self._block(counts.blocks)}"
        )
        if any(change.evidence in {Evidence.OWN, Evidence.BOTH} for change in self.changes):
            return f"{compared}."
        if counts.blocks < FEWEST_BLOCKS:
            return f"{compared}: too few {self._block(2).split(' ', 1)[1]} to tell."
        return f"{compared}: too few to tell."

    def _widened(self, others: int) -> str:
        alone = all(change.evidence in {Evidence.OTHERS, Evidence.NONE} for change in self.changes)
        how = "Instead" if alone else "Besides"
        return (
            f"{how}, {others} other tasks of the owner were each compared with themselves; the "
            "intervals are what they lead to expect of this task."
        )

    def _block(self, blocks: int) -> str:
        one, many = _BLOCKS.get(self.counts.block_s or 0.0, ("time", "times"))
        return one if blocks == 1 else f"{blocks:,} {many}"


def _runs(runs: int) -> str:
    return counted(runs, "run")
