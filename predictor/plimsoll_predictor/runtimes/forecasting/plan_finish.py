"""When a plan of tasks ends: the distribution of its finishing time, from its steps' forecasts.

A chain, one step after another, is a sum: its distribution is computed by convolution. A plan with
branches is simulated, with a seed. Both assume that steps are independent given their forecasts: if
one cause slows several steps at once, long plans are likelier than this says.

A run in the last bin of the forecasts' grid takes sixteen days or more, nobody knows how long. So
a plan with such a run counts as ended at no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES, Forecast
from plimsoll_predictor.runtimes.forecasting.grid import BoolArray, FloatArray
from plimsoll_predictor.runtimes.forecasting.plan import Plan, PlanError, Step

SAMPLES: Final = 20_000
LARGEST_SHARE: Final = 0.999
"""The largest share of endings for which a time is given."""
_BATCH: Final = 2_000
_MOST_CELLS: Final = 2**15
_ROUGH_CELLS: Final = 2**10
_MOST_WORK: Final = 2**23
"""The most cells × different steps: a thousand different tasks take about a second."""
_HELD: Final = 0.9995
_BEYOND: Final = 1.0 - np.append(np.geomspace(1.0 - _HELD, 1e-9, 60), 0.0)
"""The shares of endings beyond the grid for which a time is given."""
_MOST_NARROWINGS: Final = 8
_BEYOND_BOUND: Final = 1e-4
_TILT: Final = 24.0
"""Sums that run off the grid come back with a weight of e^-_TILT: below 1e-10."""
_SOON_S: Final = 1e-9
"""Stands for no time at all, which has no logarithm."""
_NEARLY_ALL: Final = 1 - 1e-6
"""If so many plans have no run beyond the forecasts' grid, the rest is not computed apart."""


class Method(StrEnum):
    """How a finishing time was computed."""

    CONVOLUTION = "convolution"
    SIMULATION = "simulation"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finish:
    """When all steps of a plan have ended, in seconds from now.

    times_s: (n,), rising. shares: (n,): how likely all has ended by then, if runs beyond the
        forecasts' grid take as long as its last bin: the most that is possible.
    known_shares: (n,): the same without the plans that have such a run.
    known_share: of plans without such a run.
    error_s: a bound on the error from a grid of times, except for one chance in 10,000; 0 for a
        simulation. samples: of a simulation; None for a convolution.
    grid_s: where the grid of times ends; the shares beyond are the least that they may be.
    """

    method: Method
    times_s: FloatArray
    shares: FloatArray
    known_shares: FloatArray
    known_share: float
    error_s: float
    samples: int | None
    grid_s: float = math.inf

    def quantile_s(self, share: float) -> float:
        """Seconds from now by which all is known to have ended, with this probability.

        It is the least that it may be where the share is above ``known_share``.

        Raises:
            ValueError: for a share outside of 0 to LARGEST_SHARE.
        """
        if not 0 <= share <= LARGEST_SHARE:
            raise ValueError(f"a share of {share}; ask for one from 0 to {LARGEST_SHARE}")
        shares = self.known_shares if share <= self.known_share else self.shares
        return float(np.interp(share, shares, self.times_s))

    def quantiles_s(self, shares: Sequence[float]) -> list[float]:
        """``quantile_s`` of rising shares, none earlier than the one before it."""
        found: list[float] = np.maximum.accumulate([*map(self.quantile_s, shares)]).tolist()
        return found

    @property
    def beyond_s(self) -> float | None:
        """The least seconds from now of the endings that nobody can tell; None without such."""
        if self.known_share <= self.shares[0]:
            return None
        return float(np.interp(self.known_share, self.shares, self.times_s))

    def chance_by(self, seconds: float) -> float:
        """The probability that all is known to have ended so many seconds from now."""
        return self._share_by(seconds, self.known_shares)

    def chance_between(self, seconds: float) -> tuple[float, float]:
        """The least and most that the chance may truly be: by the grid's bound, or 95% of luck.

        The most counts runs beyond the forecasts' grid as no longer than that.
        """
        if self.samples is None:
            by_s = seconds + self.error_s
            most = self._share_by(by_s, self.shares) if by_s <= self.grid_s else 1.0
            return self.chance_by(seconds - self.error_s), most
        least, _ = _wilson(self.chance_by(seconds), self.samples)
        _, most = _wilson(self._share_by(seconds, self.shares), self.samples)
        return least, most

    def _share_by(self, seconds: float, shares: FloatArray) -> float:
        if math.isnan(seconds):
            raise ValueError("a time that is no number; give seconds from now")
        before = float(shares[0]) if seconds >= self.times_s[0] else 0.0
        return float(np.interp(seconds, self.times_s, shares, left=before))

    def to_dict(self, within_s: float | None = None) -> dict[str, Any]:
        """Plain JSON types: the protocol's quantiles, and the chance to end ``within_s``."""
        shares = [float(share) for share in QUANTILES]
        quantiles_s = zip(shares, self.quantiles_s(shares), strict=True)
        written: dict[str, Any] = {
            "method": str(self.method),
            "quantiles_s": {f"{share:.2f}": seconds for share, seconds in quantiles_s},
            "error_s": self.error_s,
            "samples": self.samples,
        }
        if within_s is not None:
            least, most = self.chance_between(within_s)
            written |= {
                "within_s": within_s,
                "chance": self.chance_by(within_s),
                "chance_least": least,
                "chance_most": most,
            }
        return written


def _wilson(share: float, samples: int) -> tuple[float, float]:
    """Wilson's interval: it has width even if none or all of the samples were in time."""
    n, z2 = samples, 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def finish_of_plan(plan: Plan, forecasts: Mapping[str, Forecast], *, seed: int) -> Finish:
    """When all steps of a plan have ended.

    forecasts: of each step's task. seed: of the simulation, if the plan has branches.

    Raises:
        PlanError: for a step whose task has no forecast.
    """
    for step in plan.steps:
        if not step.ended and step.task not in forecasts:
            raise PlanError(
                f"step {step.name!r}: nothing is forecast of task {step.task!r}; name one that "
                "has run before"
            )
    if plan.is_chain:
        return _convolved(plan, forecasts)
    return _simulated(plan, forecasts, seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """The rest of one step: its runtime beyond the time it has run.

    edges_s: (n,) of its runtime. cumulated: (n,) shares of runs below. sooner_s: (n,) what those
    runs add to the mean runtime.
    """

    edges_s: FloatArray
    cumulated: FloatArray
    sooner_s: FloatArray
    elapsed_s: float

    @classmethod
    def of(cls, step: Step, forecast: Forecast) -> _Left:
        elapsed_s = step.elapsed_s or 0.0
        edges_s, masses = (forecast.given_elapsed(elapsed_s) if elapsed_s else forecast).densities()
        shares = np.asarray(masses, dtype=np.float64) / np.sum(masses, dtype=np.float64)
        # The density is even over ln(s), so the mean of a bin is that of its edges' logarithms.
        widths = np.diff(np.log(edges_s))
        means_s = np.diff(edges_s) / np.where(widths > 0, widths, 1.0)
        return cls(
            edges_s,
            np.concatenate([[0.0], np.cumsum(shares)]),
            np.concatenate([[0.0], np.cumsum(shares * means_s)]),
            elapsed_s,
        )

    def early_s(self, seconds: FloatArray) -> FloatArray:
        """The mean time by which it ends before so many seconds from now; a late end counts as 0.

        The integral of its distribution: x·F(x) less the part of the mean below x. Its second
        differences are the masses on a grid where every runtime is split onto two points so that
        its mean stays.
        """
        at_s = seconds + self.elapsed_s
        below = np.interp(np.log(np.maximum(at_s, _SOON_S)), np.log(self.edges_s), self.cumulated)
        early_s: FloatArray = at_s * below - np.interp(at_s, self.edges_s, self.sooner_s)
        return early_s

    @property
    def known_share(self) -> float:
        """The share of runs that end before the last bin."""
        return float(self.cumulated[-2])

    def known(self) -> _Left:
        """The same without the runs in the last bin, so that not all runs end."""
        return replace(
            self,
            edges_s=self.edges_s[:-1],
            cumulated=self.cumulated[:-1],
            sooner_s=self.sooner_s[:-1],
        )

    def at(self, shares: FloatArray) -> FloatArray:
        """Seconds left within which such a share of runs ends."""
        left_s = np.exp(np.interp(shares, self.cumulated, np.log(self.edges_s))) - self.elapsed_s
        return np.maximum(left_s, 0.0)


def _convolved(plan: Plan, forecasts: Mapping[str, Forecast]) -> Finish:
    """When a chain ends, on a grid of times; waits are added as they are.

    Each runtime is split onto the two grid times around it so that its mean stays: an error of mean
    0 that spans one cell per step. Over n steps it sums to at most n cells, and to more than
    √(n·ln(2/p)/2) with a chance below p (Hoeffding 1963). Reading between the times adds half a
    cell.
    """
    steps = [step for step in plan.steps if not step.ended]
    waits_s = sum(step.wait_s for step in steps if step.elapsed_s is None)
    parts = _alike(steps, forecasts)
    if not parts:
        return Finish(
            method=Method.CONVOLUTION,
            times_s=np.zeros(1),
            shares=np.ones(1),
            known_shares=np.ones(1),
            known_share=1.0,
            error_s=0.0,
            samples=None,
        )
    horizon_s = _narrowed(parts, len(steps))
    cells = min(_MOST_CELLS, 2 ** int(math.log2(_MOST_WORK / len(parts))))
    cell_s = horizon_s / cells
    times_s = (np.arange(cells) + 0.5) * cell_s
    on_grid = _ended(parts, horizon_s, cells)
    late_s, late = _after_grid(parts, len(steps), float(times_s[-1]), float(on_grid[-1]))
    shares = known_shares = np.append(on_grid, late)
    known_share = math.prod(left.known_share**times for left, times in parts)
    if known_share < _NEARLY_ALL:
        known_parts = [(left.known(), times) for left, times in parts]
        known = np.minimum(on_grid, _ended(known_parts, horizon_s, cells))
        known_shares = np.append(known, np.maximum(known[-1], late - (1 - known_share)))
    return Finish(
        method=Method.CONVOLUTION,
        times_s=np.append(times_s, late_s) + waits_s,
        shares=shares,
        known_shares=known_shares,
        known_share=known_share,
        error_s=cell_s * (0.5 + _moved_cells(len(steps))),
        samples=None,
        grid_s=float(times_s[-1]) + waits_s,
    )


def _alike(steps: list[Step], forecasts: Mapping[str, Forecast]) -> list[tuple[_Left, int]]:
    """The rest of each step, and how many steps have the same."""
    alike: dict[tuple[int, float | None], tuple[_Left, int]] = {}
    for step in steps:
        forecast = forecasts[step.task]
        key = (id(forecast), step.elapsed_s)
        left, times = alike.get(key) or (_Left.of(step, forecast), 0)
        alike[key] = (left, times + 1)
    return list(alike.values())


def _after_grid(
    parts: list[tuple[_Left, int]], steps: int, grid_s: float, share: float
) -> tuple[FloatArray, FloatArray]:
    """Times after the grid's end, and the least shares of plans that have ended by then, (n,)."""
    latest_s = _latest_s(parts, steps, _BEYOND)
    after = (latest_s > grid_s) & (share < _BEYOND)
    return latest_s[after], _BEYOND[after]


def _ended(parts: list[tuple[_Left, int]], horizon_s: float, cells: int) -> FloatArray:
    """The shares of plans that have ended half a cell after 0, 1, … cells - 1 cells, (cells,)."""
    ended: FloatArray = np.minimum(np.cumsum(_sum_of(parts, horizon_s, cells)), 1.0)
    return ended


def _moved_cells(steps: int) -> float:
    """The most cells by which splitting so many runtimes onto a grid moves their sum."""
    return min(steps, math.sqrt(steps * math.log(2 / _BEYOND_BOUND) / 2))


def _narrowed(parts: list[tuple[_Left, int]], steps: int) -> float:
    """The grid's end: the time that holds all but 1 - _HELD of the endings.

    It starts at the sum of the steps' own latest endings, and comes nearer.
    """
    horizon_s = float(_latest_s(parts, steps, np.array([_HELD]))[0])
    for _ in range(_MOST_NARROWINGS):
        cumulated = np.cumsum(_sum_of(parts, horizon_s, _ROUGH_CELLS))
        cells = int(np.searchsorted(cumulated, _HELD)) + 2 + int(_moved_cells(steps))
        if cells > _ROUGH_CELLS * 0.7:
            break
        horizon_s *= cells / _ROUGH_CELLS
    return max(horizon_s, math.ulp(1.0))


def _latest_s(parts: list[tuple[_Left, int]], steps: int, shares: FloatArray) -> FloatArray:
    """Times by which all has ended with at least these probabilities.

    Each step has its part of the chance to end later than its own time; together they are late no
    more often than the sum of these.
    """
    each = 1.0 - (1.0 - shares) / steps
    latest_s = np.zeros(len(shares))
    for left, times in parts:
        latest_s += left.at(each) * times
    return latest_s


def _sum_of(parts: list[tuple[_Left, int]], horizon_s: float, cells: int) -> FloatArray:
    """The masses of the steps' sum at 0, 1, … cells - 1 cells of time, (cells,).

    All transforms are multiplied before one is taken back. Sums beyond the grid would come back at
    its beginning; tilting the masses by e^(-_TILT/2) over the grid's length keeps them out (Grübel
    and Hermesmeier 1999).
    """
    cell_s = horizon_s / cells
    points_s = np.arange(cells + 1) * cell_s
    tilt = np.exp(-_TILT / 2 / cells * np.arange(cells))
    product = np.ones(cells + 1, dtype=np.complex128)
    for left, times in parts:
        shares = np.diff(left.early_s(points_s)) / cell_s
        masses = np.maximum(np.diff(shares, prepend=0.0), 0.0)
        product *= np.fft.rfft(masses * tilt, 2 * cells) ** times
    summed: FloatArray = np.fft.irfft(product, 2 * cells)[:cells] / tilt
    return np.maximum(summed, 0.0)


def _simulated(plan: Plan, forecasts: Mapping[str, Forecast], seed: int) -> Finish:
    """The end of any plan: every step begins when the last of those it waits for has ended."""
    random = np.random.default_rng(seed)
    left = {
        step.name: _Left.of(step, forecasts[step.task]) for step in plan.steps if not step.ended
    }
    batches = [_ends(plan, left, random) for _ in range(SAMPLES // _BATCH)]
    times_s, known = (np.concatenate(each) for each in zip(*batches, strict=True))
    order = np.argsort(times_s)
    return Finish(
        method=Method.SIMULATION,
        times_s=times_s[order],
        shares=np.arange(1, SAMPLES + 1) / SAMPLES,
        known_shares=np.cumsum(known[order]) / SAMPLES,
        known_share=math.prod(each.known_share for each in left.values()),
        error_s=0.0,
        samples=SAMPLES,
    )


def _ends(
    plan: Plan, left: Mapping[str, _Left], random: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """When the last step ends, and whether all steps' ends are known, in _BATCH simulations."""
    ended_s: dict[str, FloatArray] = {}
    last_s, known = np.zeros(_BATCH), np.ones(_BATCH, dtype=np.bool_)
    for step in plan.steps:
        if step.ended:
            ended_s[step.name] = np.zeros(_BATCH)
            continue
        begins_s = np.zeros(_BATCH)
        for name in step.waits_for:
            begins_s = np.maximum(begins_s, ended_s[name])
        wait_s = step.wait_s if step.elapsed_s is None else 0.0
        shares = random.random(_BATCH)
        known &= shares < left[step.name].known_share
        ended_s[step.name] = begins_s + wait_s + left[step.name].at(shares)
        last_s = np.maximum(last_s, ended_s[step.name])
    return last_s, known
