"""Bins: the search is exact, and a need with its margin fits its bin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.model.bins import (
    INNER_MARGIN,
    BinLimits,
    Bins,
    labels_with_margin,
    search_bins,
)
from tests.rigs.drawing import examples


def _spent(ceilings: tuple[int, ...], needs: np.ndarray, runtimes: np.ndarray) -> float:
    bins = Bins(ceilings, (), (), ())
    labels = labels_with_margin(bins, needs)
    return float(np.asarray(ceilings, dtype=np.float64)[labels] @ runtimes)


def _ceiling(need: float, factor: float) -> int:
    return int(np.ceil(need * factor / MIB) * MIB)


def _cheapest_by_brute_force(
    needs: np.ndarray, runtimes: np.ndarray, n_bins: int, limits: BinLimits
) -> float | None:
    last = _ceiling(needs.max(), max(limits.headroom, INNER_MARGIN))
    inner = sorted({_ceiling(need, INNER_MARGIN) for need in needs})[:-1]
    spent = []
    for chosen in combinations(inner, n_bins - 1):
        ceilings = (*chosen, last)
        labels = labels_with_margin(Bins(ceilings, (), (), ()), needs)
        if np.bincount(labels, minlength=n_bins).min() >= min(limits.min_members, needs.size):
            spent.append(_spent(ceilings, needs, runtimes))
    return min(spent, default=None)


@pytest.mark.slow
@examples(200)
@given(
    runs=st.lists(
        st.tuples(st.integers(1, 60), st.integers(0, 20)),
        min_size=1,
        max_size=9,
    ),
    min_members=st.integers(1, 3),
    headroom=st.sampled_from([1.0, 1.1, 1.5]),
)
def test_the_search_finds_what_trying_every_cut_finds(
    runs: list[tuple[int, int]], min_members: int, headroom: float
) -> None:
    needs = np.asarray([need * 7 * MIB for need, _ in runs], dtype=np.float64)
    runtimes = np.asarray([runtime for _, runtime in runs], dtype=np.float64)
    weights = runtimes if runtimes.sum() else np.ones_like(runtimes)
    limits = BinLimits(reference_bytes=GIB, max_bins=5, min_members=min_members, headroom=headroom)
    options = search_bins(needs, runtimes, limits)
    assert [len(option.bins) for option in options] == list(range(1, len(options) + 1))
    for n_bins in range(1, 6):
        best = _cheapest_by_brute_force(needs, weights, n_bins, limits)
        if best is None:
            assert len(options) < n_bins
        else:
            option = options[n_bins - 1]
            assert _spent(option.bins.ceilings_bytes, needs, weights) == pytest.approx(best)
            assert option.time_based_optimal_improvement == pytest.approx(
                1 - best / (GIB * weights.sum())
            )


@pytest.mark.slow
@given(st.lists(st.floats(1e3, 1e12), min_size=2, max_size=60))
def test_labels_count_what_the_bins_say_and_every_need_fits_with_its_margin(
    sizes: list[float],
) -> None:
    needs = np.asarray(sizes)
    limits = BinLimits(reference_bytes=1e12)
    for option in search_bins(needs, np.ones(needs.size), limits):
        bins = option.bins
        labels = labels_with_margin(bins, needs)
        assert tuple(np.bincount(labels, minlength=len(bins))) == bins.counts
        assert min(bins.counts) >= 2
        ceilings = np.asarray(bins.ceilings_bytes)
        assert np.all(needs * INNER_MARGIN <= ceilings[labels])
        assert np.all(ceilings % MIB == 0)
        assert np.all(np.diff(ceilings) > 0)
        assert from_document(Bins, to_document(bins), "bins") == bins


def test_the_last_ceiling_has_headroom_and_inner_ones_a_margin() -> None:
    needs = np.asarray([100, 100, 500, 500]) * float(MIB)
    option = search_bins(needs, np.ones(4), BinLimits(reference_bytes=GIB, headroom=1.2))[1]
    assert option.bins.ceilings_bytes == (104 * MIB, 600 * MIB)
    assert option.bins.mean_need_bytes == (100 * MIB, 500 * MIB)


def test_improvements_are_shares_of_the_reference_as_table_6_defines_them() -> None:
    # Three short light runs and one long heavy one, asked for with 1000 MiB each.
    needs = np.asarray([96, 96, 480, 480]) * float(MIB)
    runtimes = np.asarray([1.0, 1.0, 4.0, 4.0])
    limits = BinLimits(reference_bytes=1000 * MIB, headroom=INNER_MARGIN)
    option = search_bins(needs, runtimes, limits)[1]
    low, high = (ceiling / MIB for ceiling in option.bins.ceilings_bytes)
    assert (low, high) == (100, 500)
    assert option.optimal_improvement == pytest.approx(1 - (2 * low + 2 * high) / 4000)
    assert option.time_based_optimal_improvement == pytest.approx(1 - (2 * low + 8 * high) / 10_000)


def test_no_ceiling_is_below_the_floor() -> None:
    needs = np.asarray([1, 2, 3, 400, 400]) * float(MIB)
    limits = BinLimits(reference_bytes=GIB, headroom=1.25, floor_bytes=32 * MIB)
    options = search_bins(needs, np.ones(5), limits)
    assert [option.bins.ceilings_bytes[0] // MIB for option in options] == [500, 32]


def test_one_run_gives_one_bin_and_equal_needs_give_one_bin() -> None:
    for n_runs in (1, 50):
        needs = np.full(n_runs, 300.0 * MIB)
        options = search_bins(needs, np.ones(n_runs), BinLimits(reference_bytes=GIB))
        assert [option.bins.ceilings_bytes for option in options] == [(330 * MIB,)]


@pytest.mark.parametrize(
    "needs",
    [
        pytest.param([], id="no need"),
        pytest.param([0.0], id="a need of zero"),
        pytest.param([1e9, float("nan")], id="a need that is no number"),
        pytest.param([float("inf")], id="an infinite need"),
    ],
)
def test_needs_that_are_none_are_refused_with_what_to_do(needs: list[float]) -> None:
    with pytest.raises(ValueError, match="leave out runs whose need is not known"):
        search_bins(np.asarray(needs), np.ones(len(needs)), BinLimits(reference_bytes=GIB))


@pytest.mark.slow
def test_ten_thousand_different_needs_take_about_ten_times_as_many_steps_as_a_thousand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import plimsoll_predictor.model.bins as module

    steps = 0
    add = module._Envelope.add

    def counted(self: module._Envelope, slope: float, offset: float, name: int) -> None:
        nonlocal steps
        steps += 1
        add(self, slope, offset, name)

    monkeypatch.setattr(module._Envelope, "add", counted)
    taken = []
    for n_runs in (1_000, 10_000):
        steps = 0
        needs = np.arange(1, n_runs + 1, dtype=np.float64) * MIB * 2
        assert len(search_bins(needs, needs, BinLimits(reference_bytes=1e12))) == 8
        taken.append(steps)
    assert 9 < taken[1] / taken[0] < 11


def test_a_need_above_the_last_ceiling_belongs_to_the_last_bin() -> None:
    bins = Bins((100, 200), (1, 1), (50.0, 150.0), (1.0, 1.0))
    needs = np.asarray([1, 100, 101, 200, 201, 10**12])
    assert bins.labels(needs).tolist() == [0, 0, 1, 1, 1, 1]
