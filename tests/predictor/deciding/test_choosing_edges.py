"""Ceilings: equally cheap ones, unmeasured runtimes, and room over the largest need."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.deciding.choosing import cheapest_bins, cheapest_ceiling
from plimsoll_predictor.model.bins import INNER_MARGIN, BinLimits, Bins, search_bins


def bins_of(
    ceilings_mib: tuple[int, ...], needs_mib: tuple[float, ...], runtimes_s: tuple[float, ...]
) -> Bins:
    return Bins(
        ceilings_bytes=tuple(size * MIB for size in ceilings_mib),
        counts=tuple(10 for _ in ceilings_mib),
        mean_need_bytes=tuple(need * MIB for need in needs_mib),
        mean_runtime_s=runtimes_s,
    )


def test_of_equally_cheap_ceilings_the_largest_is_chosen() -> None:
    # Its runs need as much as the larger ceiling: neither leaves any room unused.
    bins = bins_of((100, 200), (200.0, 200.0), (60.0, 60.0))
    surely_small = np.array([1.0, 0.0])
    assert cheapest_ceiling(surely_small, bins, penalty=1.0).bin == 1
    assert cheapest_bins(surely_small[None, :], bins, penalty=1.0).tolist() == [1]


def cost_of(runtimes_s: tuple[float, float]) -> float:
    """MiB-seconds of a run that is surely of the first bin and leaves ten of 100 MiB unused."""
    bins = bins_of((100, 200), (90.0, 200.0), runtimes_s)
    choice = cheapest_ceiling(np.array([1.0, 0.0]), bins, penalty=1.0)
    assert choice.bin == 0
    return choice.expected_cost_gb_h / gb_hours(MIB, 1.0)


@pytest.mark.parametrize(
    ("runtimes_s", "runtime_s"),
    [
        pytest.param((30.0, 60.0), 30.0, id="its own, where it is known"),
        pytest.param((0.0, 60.0), 60.0, id="the mean of the known ones, where it is not"),
        pytest.param((0.0, 0.0), 1.0, id="one second, where none is known"),
    ],
)
def test_a_bins_cost_is_its_room_for_its_runtime(
    runtimes_s: tuple[float, float], runtime_s: float
) -> None:
    assert cost_of(runtimes_s) == pytest.approx(10 * runtime_s)


@pytest.mark.parametrize(
    ("headroom", "ceiling_mib"),
    [
        pytest.param(1.5, 1500, id="the headroom that is asked for"),
        pytest.param(1.0, int(np.ceil(1000 * INNER_MARGIN)), id="an inner margin at least"),
    ],
)
def test_the_last_ceiling_leaves_room_over_the_largest_need(
    headroom: float, ceiling_mib: int
) -> None:
    needs_bytes = np.array([1000.0 * MIB] * 4)
    limits = BinLimits(reference_bytes=4000.0 * MIB, headroom=headroom)
    (option,) = search_bins(needs_bytes, np.ones(4), limits)
    assert option.bins.ceilings_bytes == (ceiling_mib * MIB,)
