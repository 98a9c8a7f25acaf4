"""What a failed attempt costs, by the run and by an admin."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.experts.expected import GRID, N_CELLS, cheapest_multiple
from plimsoll_predictor.knowledge.measured_constants import SERVED


@pytest.mark.parametrize(
    ("runtime_s", "overhead_s", "price_s"),
    [
        pytest.param(20.0, None, 120.0, id="20 s: a few runtimes"),
        pytest.param(600.0, None, 1860.0, id="10 min"),
        pytest.param(5 * 3600.0, None, 2400.0, id="5 h: as all before"),
        pytest.param(20.0, 0.0, 0.0, id="an admin knows better"),
        pytest.param(20.0, 7200.0, 7200.0, id="an admin whose runs must not fail"),
    ],
)
def test_the_price_goes_by_the_run(
    runtime_s: float, overhead_s: float | None, price_s: float
) -> None:
    assert SERVED.price_s(runtime_s, overhead_s) == price_s


@pytest.mark.parametrize(
    ("runtime_s", "share"), [(1.0, 0.02), (120.0, 0.02), (600.0, 0.1), (36_000.0, 1.0)]
)
def test_longer_runs_may_fail_more_often(runtime_s: float, share: float) -> None:
    assert SERVED.failing_share(runtime_s, None) == pytest.approx(share)
    assert SERVED.failing_share(runtime_s, 60.0) == 1.0, "an admin's price bounds it"


def test_no_more_runs_fail_than_may_however_cheap() -> None:
    # 95 of 100 runs need a tenth of the largest need, and five need all of it.
    ratios = np.zeros(N_CELLS)
    ratios[np.searchsorted(GRID, np.log(0.1))] = 95.0
    ratios[np.searchsorted(GRID, 0.0)] = 5.0
    assert cheapest_multiple(ratios, ratios, 0.0) < 0.2
    assert cheapest_multiple(ratios, ratios, 0.0, most_failing=0.02) >= 1.0
