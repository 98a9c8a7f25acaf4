"""The constants of sizing, in one place, so that a replay can try others.

One configuration serves all tasks. docs/replay.md has what each trace would have chosen, and what
the others chose for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What was chosen by measurement, not by an admin.

    burst_share: a burst shows once so large a share of a task's runs, as many as are known, was
        killed and has not succeeded yet; ``burst_runs`` of them at least.
    outlasting_runs: while no more runs are known, what still runs says something.
    outlasting_share: the share of known and running attempts that must outlast those that ended.
    outlasting_room: the first size, over the largest need, where they do.
    shown_few: up to so many needs the largest counts, beyond it ``shown_quantile`` of them.
    shown_room: the first size over what running attempts show.
    price_runtimes, restart_s: the price of a failed attempt beyond what it held, in seconds of its
        memory: so many of the run's runtimes, and the time until the next attempt starts. A fixed
        number of seconds would make failures of short runs dearer than any request.
    most_restart_runtimes: the restart counts as so many of the run's runtimes at most. A failure of
        a run of seconds is worth a few of them, however long its next attempt waits.
    most_price_s: that price, at most.
    young_margin: the room over the largest need when one run is known, as a share of that need; it
        shrinks with the square root of the runs.
    most_failing: the chance that the expected-cost experts let a run fail with, at most, where it
        takes no longer than ``short_s``; in proportion beyond. What a failure costs besides memory,
        such as the people who look at it, does not scale with the run; spare memory does.
    """

    burst_share: float = 0.25
    burst_runs: int = 2
    outlasting_runs: int = 3
    outlasting_share: float = 1 / 3
    outlasting_room: float = 1.6
    shown_few: int = 10
    shown_quantile: float = 0.9
    shown_room: float = 1.3
    price_runtimes: float = 3.0
    restart_s: float = 60.0
    most_restart_runtimes: float = 3.0
    most_price_s: float = 2400.0
    most_failing: float = 0.02
    short_s: float = 120.0
    young_margin: float = 0.8

    def price_s(self, runtime_s: float, overhead_s: float | None) -> float:
        """The price of a failed attempt, in seconds of its memory.

        overhead_s: an admin's own price of every failed attempt; None if nobody set one.
        """
        if overhead_s is not None:
            return overhead_s
        own_s = self.price_runtimes * runtime_s
        return min(own_s + self.counted_restart_s(runtime_s), self.most_price_s)

    def counted_restart_s(self, runtime_s: float) -> float:
        """What the restart counts for in the price of a failure of such a run, in seconds."""
        return min(self.restart_s, self.most_restart_runtimes * runtime_s)

    def failing_share(self, runtime_s: float, overhead_s: float | None) -> float:
        """The chance of a failure that is worth its saving, at most; 0 to 1.

        An admin's own price bounds it already.
        """
        if overhead_s is not None:
            return 1.0
        return min(1.0, self.most_failing * max(1.0, runtime_s / self.short_s))


SERVED: Final = Constants()
