"""Says what a failed attempt of a task counts for, and where the parts of this price come from."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.restarts import LEAST


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePrice:
    """The price of a failed attempt of a task's usual run, beyond the memory-time it wasted.

    price_s: in seconds of the attempt's memory. set_by_admin: whether it is a policy's number.
    restart_s: how long a restart takes. counted_s: the part of the price that stands for it.
    runtimes: how many of the run's runtimes are in it. restarts: how many measured restarts of the
        task's namespace are kept, the newest.
    most_s: the most that it may be if no policy sets it.
    """

    price_s: float
    set_by_admin: bool
    restart_s: float
    counted_s: float
    runtimes: float
    restarts: int
    most_s: float

    @property
    def measured(self) -> bool:
        """Say whether enough restarts are known for their median to count."""
        return self.restarts >= LEAST

    @property
    def words(self) -> str:
        """Return one sentence without its full stop."""
        price = f"a failed attempt counts as {words_for_duration(self.price_s)} of its memory"
        if self.set_by_admin:
            return f"{price}, as risk.overheadSeconds says"
        restart = words_for_duration(self.counted_s)
        if self.counted_s < self.restart_s:
            restart = f"{restart} of the {words_for_duration(self.restart_s)}"
        if self.measured:
            whence = f"the median of the {self.restarts} latest in this namespace"
        else:
            seen = f"{counted(self.restarts, 'restart')} measured"
            whence = f"until {LEAST} are measured: {seen} so far"
        parts = f"{self.runtimes:g} runtimes, and {restart} for the restart ({whence})"
        held = f"; {words_for_duration(self.most_s)} at most" if self.price_s >= self.most_s else ""
        return f"{price}: {parts}{held}"


def failure_price(pool: Pool, runtime_s: float, overhead_s: float | None) -> FailurePrice:
    """Return the price as the experts use it.

    runtime_s: the usual run's. overhead_s: a policy's own price; None if none is set.
    """
    constants = pool.constants
    return FailurePrice(
        price_s=constants.price_s(runtime_s, overhead_s),
        set_by_admin=overhead_s is not None,
        restart_s=constants.restart_s,
        counted_s=constants.counted_restart_s(runtime_s),
        runtimes=constants.price_runtimes,
        restarts=len(pool.restarts),
        most_s=constants.most_price_s,
    )
