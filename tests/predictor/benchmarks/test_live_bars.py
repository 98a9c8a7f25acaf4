"""The exit status of `make bench-live` says whether its measurements reach their bounds."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.live.node import PARTS, holds


@pytest.mark.parametrize(
    ("part", "found", "expected"),
    [
        ("recurring", {"allocated_over_peak": 1.15, "kills": 2}, True),
        ("recurring", {"allocated_over_peak": 1.16, "kills": 0}, False),
        ("recurring", {"allocated_over_peak": 1.1, "kills": 3}, False),
        ("burst", {"saved": 0.5}, True),
        ("burst", {"saved": 0.49}, False),
        ("lending", {"waste_saved": 0.4, "with": {"killed_or_evicted": []}}, True),
        ("lending", {"waste_saved": 0.4, "with": {"killed_or_evicted": ["cold-1"]}}, False),
        ("lending", {"waste_saved": 0.39, "with": {"killed_or_evicted": []}}, False),
    ],
)
def test_a_part_holds_if_its_figures_reach_their_bounds(
    part: str, found: dict[str, Any], *, expected: bool
) -> None:
    assert part in PARTS
    assert holds(part, found) is expected
