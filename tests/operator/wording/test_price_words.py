"""What a failed attempt counts for, in words."""

from __future__ import annotations

import pytest

from plimsoll_operator.wording.price_words import failure_price
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool


@pytest.mark.parametrize(
    ("restarts_s", "runtime_s", "overhead_s", "words"),
    [
        pytest.param(
            [],
            20.0,
            None,
            "a failed attempt counts as 2 min of its memory: 3 runtimes, and 60 s for the restart"
            " (until 8 are measured: 0 restarts measured so far)",
            id="none measured",
        ),
        pytest.param(
            [6.0] * 9,
            20.0,
            None,
            "a failed attempt counts as 66 s of its memory: 3 runtimes, and 6 s for the restart"
            " (the median of the 9 latest in this namespace)",
            id="measured",
        ),
        pytest.param(
            [600.0] * 8,
            5.0,
            None,
            "a failed attempt counts as 30 s of its memory: 3 runtimes, and 15 s of the 10 min for"
            " the restart (the median of the 8 latest in this namespace)",
            id="a restart of many runtimes",
        ),
        pytest.param(
            [],
            18_000.0,
            None,
            "a failed attempt counts as 40 min of its memory: 3 runtimes, and 60 s for the restart"
            " (until 8 are measured: 0 restarts measured so far); 40 min at most",
            id="a long run",
        ),
        pytest.param(
            [6.0] * 9,
            20.0,
            600.0,
            "a failed attempt counts as 10 min of its memory, as risk.overheadSeconds says",
            id="an admin's number",
        ),
    ],
)
def test_the_price_is_told_with_its_parts(
    restarts_s: list[float], runtime_s: float, overhead_s: float | None, words: str
) -> None:
    pool = Pool(EXPERTS, ANCHORS)
    for each in restarts_s:
        pool.restarted(each)
    assert failure_price(pool, runtime_s, overhead_s).words == words
