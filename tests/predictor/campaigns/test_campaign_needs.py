"""Which scenario teaches most, and what a campaign found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from plimsoll_predictor.campaigns.findings import ValueKind, findings_of
from plimsoll_predictor.campaigns.needs import axes_of, fit, least_certain
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import MIB


def learned(scenario: int, need_mib: float, **values: str) -> CampaignRun:
    return CampaignRun(
        scenario=scenario,
        state=RunState.LEARNED,
        values=values,
        memory_bytes=2000 * MIB,
        peak_bytes=int(need_mib * MIB),
        runtime_s=60.0,
        created_s=float(scenario),
        ended_s=float(scenario),
        attempt_uid=f"pod-{scenario}",
    )


def waiting(scenario: int, **values: str) -> CampaignRun:
    return CampaignRun(scenario=scenario, values=values, memory_bytes=2000 * MIB)


def linear(n: float, kind: str = "a") -> float:
    return 50 + 8 * n + (200 if kind == "b" else 0)


def test_what_is_far_from_all_that_is_known_is_least_certain() -> None:
    runs = [learned(n, linear(n), n=str(n)) for n in (1, 2, 3, 4)]
    left = [waiting(place, n=str(n)) for place, n in ((10, 2), (11, 5), (12, 90))]
    assert least_certain([*runs, *left], left).scenario == 12


def test_the_other_kind_is_least_certain_while_one_is_known_only() -> None:
    runs = [learned(n, linear(n), n=str(n), kind="a") for n in range(1, 9)]
    left = [waiting(20, n="4", kind="b"), waiting(21, n="5", kind="a")]
    assert least_certain([*runs, *left], left).scenario == 20


def test_two_at_once_do_not_ask_the_same() -> None:
    runs = [learned(n, linear(n), n=str(n)) for n in (1, 2, 3)]
    going = CampaignRun(
        scenario=9, state=RunState.RUNNING, values={"n": "90"}, memory_bytes=1, created_s=5.0
    )
    left = [waiting(10, n="89"), waiting(11, n="45")]
    assert least_certain([*runs, *left], left).scenario == 10
    assert least_certain([*runs, going, *left], left).scenario == 11


def test_before_anything_is_known_the_middle_and_then_the_ends_are_asked() -> None:
    left = [waiting(n, n=str(n)) for n in range(9)]
    first = least_certain(left, left)
    assert first.scenario == 4
    going = CampaignRun(scenario=4, state=RunState.STARTING, values=first.values, memory_bytes=1)
    rest = [run for run in left if run.scenario != 4]
    assert least_certain([going, *rest], rest).scenario in {0, 8}


def test_scenarios_that_all_are_alike_are_asked_in_their_order() -> None:
    left = [waiting(n, n="1") for n in range(3)]
    assert least_certain(left, left).scenario == 0
    runs = [learned(9, 100, n="1")]
    assert least_certain([*runs, *left], left).scenario == 0


def test_a_fit_predicts_what_lies_between() -> None:
    runs = [learned(n, linear(n), n=str(n)) for n in range(0, 100, 10)]
    axes = axes_of([run.values for run in runs])
    fitted = fit(axes, runs)
    needs, widths = fitted.predict(axes.of([{"n": "45"}, {"n": "3"}]))
    assert needs[0] / MIB == pytest.approx(linear(45), rel=0.05)
    assert np.all(widths > 0)
    middles, errors = fitted.left_out()
    inner = np.exp(middles[2:-2]) / MIB
    assert inner == pytest.approx([linear(n) for n in range(20, 80, 10)], rel=0.1)
    assert np.all(errors > 0)


def test_dates_are_days_and_a_category_has_one_length() -> None:
    rows = [
        {"day": "2026-01-01", "kind": "a"},
        {"day": "2026-01-31", "kind": "b"},
        {"day": "2026-01-16", "kind": "c"},
    ]
    axes = axes_of(rows)
    assert axes.of(rows)[:, 0].tolist() == [0.0, 1.0, 0.5]
    assert axes.features == (0, 1, 1, 1)
    assert axes.of([{"day": "some day", "kind": "d"}, {}]).tolist() == [[0.5, 0, 0, 0]] * 2


def test_findings_say_how_the_need_depends_on_each_feature_and_what_is_uncertain() -> None:
    runs = [
        learned(2 * n + (kind == "b"), linear(n, kind), n=str(n), kind=kind)
        for n in range(20)
        for kind in "ab"
    ]
    found = findings_of([*runs, waiting(90, n="60", kind="b"), waiting(91, n="7", kind="a")], 10**9)
    by_name = {effect.feature: effect for effect in found.effects}
    assert by_name["kind"].correlation is None
    assert [level.values for level in by_name["kind"].levels] == ["a", "b"]
    low, high = (level.mean_bytes for level in by_name["kind"].levels)
    assert high - low == pytest.approx(200 * MIB, rel=0.01)
    correlation = by_name["n"].correlation
    assert correlation is not None
    assert 0.3 < correlation < 1
    assert [each.values["n"] for each in found.uncertain] == ["60", "7"]
    assert found.within is not None
    assert 1 < found.within < 1.5
    assert len(found.ceilings_bytes) > 1
    assert math.isclose(found.requested_gb_h, 40 * 60 / 3600, rel_tol=0.01)


def test_dates_are_in_their_order_and_the_commonest_categories_are_told() -> None:
    runs = [
        learned(n, 100 + n, day=f"2026-01-{1 + n:02d}", kind="abcdefghijk"[n % 11])
        for n in range(20)
    ]
    day, kind = findings_of(runs, 10**9).effects
    assert (day.kind, kind.kind) == (ValueKind.DATE, ValueKind.CATEGORY)
    assert (day.distinct, kind.distinct) == (20, 11)
    assert day.correlation == pytest.approx(1.0)
    assert day.levels[0].values == "2026-01-01 to 2026-01-03"
    assert [level.values for level in kind.levels] == list("abcdefgh")


def test_a_run_that_stands_for_many_counts_as_often_in_every_share() -> None:
    runs = [learned(n, linear(n), n=str(n)) for n in range(12)]
    heavy = [replace(run, weight=30 if run.scenario == 11 else 1) for run in runs]
    once, often = findings_of(runs, 500 * MIB), findings_of(heavy, 500 * MIB)
    twice = findings_of([*runs, *(replace(run, scenario=99) for run in runs)], 500 * MIB)
    assert once.needed is not None
    assert often.needed is not None
    assert often.needed > 1.2 * once.needed
    assert often.requested_gb_h == pytest.approx(once.requested_gb_h * 41 / 12)
    assert twice.needed == pytest.approx(once.needed)
    assert often.optimal is not None
    assert once.optimal is not None
    assert often.optimal < once.optimal
