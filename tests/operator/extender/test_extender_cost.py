"""The cost of scores, compared with reading the question and answering without any."""

from __future__ import annotations

import pytest

from benchmarks.scheduling.extender import measure

MOST_TIMES = 24.0
"""7 to 8 were measured; without numpy it would be hundreds."""


@pytest.mark.slow
def test_a_thousand_nodes_and_fifty_kinds_cost_little_more_than_their_names() -> None:
    found = measure(1000, whole=False)
    assert found.given == 1.0
    assert found.ratio < MOST_TIMES
    assert found.loaded_us < 2 * found.scored_us
