"""The comparison of a campaign's two orders: what is served is charged, and when it is reached."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.campaigns import reached, served_improvement
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import MIB

TRUTH = [
    CampaignRun(
        scenario=n,
        state=RunState.LEARNED,
        values={"n": str(n)},
        memory_bytes=1000 * MIB,
        peak_bytes=(100 if n < 10 else 300) * MIB,
        runtime_s=60.0,
    )
    for n in range(20)
]


def test_an_order_has_reached_a_figure_when_it_stays_there() -> None:
    assert reached([0.1, 0.5, 0.6, 0.49, 0.51], 0.5) == 4
    assert reached([0.5, 0.51], 0.5) == 1
    assert reached([0.5, 0.6], 0.5) == 3, "later than it ever ran"


def test_what_is_served_with_all_known_saves_nearly_what_the_needs_leave() -> None:
    assert 0.6 < served_improvement(TRUTH, TRUTH, 1000 * MIB) < 0.8


def test_what_is_served_too_small_is_charged() -> None:
    known = [replace(run) for run in TRUTH[:4]]
    assert served_improvement(known, TRUTH, 1000 * MIB) < 0.5
    assert served_improvement([], TRUTH, 1000 * MIB) == 0.0
