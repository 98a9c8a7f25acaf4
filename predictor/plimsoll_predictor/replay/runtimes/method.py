"""A method that is replayed: it forecasts runtimes as runs are submitted."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES
from plimsoll_predictor.runtimes.runs.log_run import LogRun

FloatArray = npt.NDArray[np.float64]

SHARES: Final[FloatArray] = QUANTILES
"""The 21 quantiles that are scored."""


class RuntimeForecast(Protocol):
    """A method's forecast of one run's runtime."""

    def quantiles_ln(self) -> FloatArray:
        """The logarithms of its quantiles in s at SHARES, not falling."""

    def longer_than(self, seconds: float, /) -> float:
        """The probability that it lasts longer, 0 to 1."""


class Method(Protocol):
    """A way to forecast. It gets events in order of time, and learns only from runs that ended.

    number: a run's place in the log. Every call may change the method, but it must not look ahead:
    before a run finishes, it may read only what is known at its submission.
    """

    def submit(self, number: int, run: LogRun, /) -> RuntimeForecast:
        """Forecast a run that is submitted now."""

    def start(self, number: int, run: LogRun, /) -> None:
        """Note that it starts now."""

    def finish(self, number: int, run: LogRun, /) -> None:
        """Learn from a run that ended at run.finished_s."""

    def bytes_per_task(self) -> float | None:
        """Bytes kept per task, on average; None if the method keeps every run of a task."""
