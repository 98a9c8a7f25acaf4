"""What the newest runs of a task used of the CPU. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from plimsoll_predictor.core.documents import Count

WINDOW_RUNS: Final = 64
"""The newest runs looked at: older ones ran other versions of the task."""
HIGH_QUANTILE: Final = 0.95
"""At most one in twenty of the window's runs used more on average."""
MIN_RUNTIME_S: Final = 5.0
"""Kubernetes gives times in whole seconds: the mean over a shorter run would be a guess."""

MOST_CORES: Final = 100_000
"""No machine has more: what used more was measured in another unit."""

Cores: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]


@dataclass(frozen=True, slots=True)
class RunCpu:
    """One run that succeeded: the mean of its cores, and its highest minute where one was seen."""

    mean_cores: float
    peak_cores: float | None = None

    @property
    def is_possible(self) -> bool:
        """Whether a machine could have done it."""
        return all(0 <= cores <= MOST_CORES for cores in (self.mean_cores, self.peak_cores or 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """The CPU that the newest runs of a task used, in cores.

    runs: how many, from 1 to WINDOW_RUNS.
    high_cores: HIGH_QUANTILE of their means.
    peak_cores: the highest minute of all of them; None if no run lasted one.
    """

    runs: Count
    high_cores: Cores
    peak_cores: Cores | None = None


def use_of(runs: Sequence[RunCpu]) -> CpuUse | None:
    """The CPU that the runs used; None if there are none. Their order is not important.

    Runs that no machine could have done are left out: nobody could read the figure. The quantile
    is one of the runs' own means, the next one up: nothing is interpolated, so that the same runs
    give the same figure everywhere.
    """
    possible = [run for run in runs if run.is_possible]
    if not possible:
        return None
    means = sorted(run.mean_cores for run in possible)
    peaks = [run.peak_cores for run in possible if run.peak_cores is not None]
    return CpuUse(
        runs=len(means),
        high_cores=means[math.ceil(HIGH_QUANTILE * len(means)) - 1],
        peak_cores=max(peaks, default=None),
    )
