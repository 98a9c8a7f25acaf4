"""The constants of sizing, in one place, so that a replay can try others.

One configuration serves all tasks. docs/replay.md has what each trace would have chosen, and what
the others chose for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Constants that were chosen by measurement, not by an admin.

    burst_share: a burst shows once the killed runs that have not succeeded yet are more than this
        share of the number of known runs; they are ``burst_runs`` at least.
    outlasting_runs: while no more runs are known, running attempts say something.
    outlasting_share: the share of known and running attempts that must outlast those that ended.
    outlasting_room: the first size, over the largest need, if they do.
    shown_few: up to so many needs, the largest counts; beyond, the ``shown_quantile`` of them.
    shown_room: the first size over what running attempts show.
    price_runtimes, restart_s: the price of a failed attempt beyond what it held, in seconds of its
        memory: so many of the run's runtimes, and the time until the next attempt starts. A fixed
        number of seconds would make failures of short runs dearer than any request.
    most_restart_runtimes: the restart counts as so many of the run's runtimes at most. A failure
        of a run of seconds costs a few of them, however long its next attempt waits.
    most_price_s: that price, at most.
    young_margin: the room over the largest need when one run is known, as a share of that need; it
        shrinks with the square root of the runs.
    most_failing: the largest chance of failing that the expected-cost experts allow for a run of up
        to ``short_s``; in proportion for longer ones. A failure's other costs, such as the people
        who look at it, do not scale with the run; spare memory does.
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
        """The restart's part of the price of such a run's failure, in seconds."""
        return min(self.restart_s, self.most_restart_runtimes * runtime_s)

    def failing_share(self, runtime_s: float, overhead_s: float | None) -> float:
        """The largest chance of a failure that the saving is worth; 0 to 1.

        An admin's own price bounds it already.
        """
        if overhead_s is not None:
            return 1.0
        return min(1.0, self.most_failing * max(1.0, runtime_s / self.short_s))


SERVED: Final = Constants()
