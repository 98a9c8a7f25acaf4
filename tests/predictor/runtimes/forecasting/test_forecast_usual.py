"""The usual: a median of any number of runs in bounded space."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.runtimes.forecasting.usual import MOST_VALUES, Usual


@pytest.mark.slow
@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=MOST_VALUES))
def test_of_few_runs_the_usual_is_the_median_exactly(runtimes_s: list[int]) -> None:
    usual = Usual()
    for runtime_s in runtimes_s:
        usual.add(runtime_s)
    assert usual.median_s() == median(runtimes_s)


def test_of_many_runs_of_few_lengths_it_is_exact_too() -> None:
    random = np.random.default_rng(2)
    runtimes_s = [int(each) for each in random.integers(1, 50, 5000)]
    usual = Usual()
    for runtime_s in runtimes_s:
        usual.add(runtime_s)
    assert usual.median_s() == median(runtimes_s)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
def test_of_many_runs_it_is_near_the_middle(spread: float) -> None:
    random = np.random.default_rng(2)
    runtimes_s = np.exp(8 + spread * random.standard_normal(5000))
    usual = Usual()
    for runtime_s in runtimes_s:
        usual.add(float(runtime_s))
    found_s = usual.median_s()
    assert found_s is not None
    assert float(np.mean(runtimes_s < found_s)) == pytest.approx(0.5, abs=0.05)
    assert len(usual.values_s) <= MOST_VALUES
    assert sum(usual.times) == 5000


def test_of_no_runs_nothing_is_usual() -> None:
    assert Usual().median_s() is None
