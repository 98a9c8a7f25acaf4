"""The bars of `make bench-sizes`: each can be missed, and none is passed by rounding."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.bar import below
from benchmarks.public_traces import FIVE, TRACES
from benchmarks.sizes.bars import OWN, PUBLISHED, bars, by_setting, parity
from benchmarks.sizes.unseen import LOST_H, MOMENTS, RULES, unseen_bars
from plimsoll_predictor.replay.sizes.policies import LIVE_LATE


def figures(**own: float) -> list[dict[str, Any]]:
    """The published baselines, and a policy that passes every bar except for the given figures."""
    found = []
    for trace in TRACES:
        least = min(waste for waste, _ in PUBLISHED[trace].values())
        settings: list[tuple[str, str, float, float, float]] = [
            (name, "submit", 1.0, *published) for name, published in PUBLISHED[trace].items()
        ]
        settings.append((OWN, "submit", 1.0, least * own.get("waste", 0.5), own.get("failed", 9)))
        settings.append((OWN, "start", 1.0, own.get("at_start", 600), 9))
        settings.append((OWN, "start", 0.75, least * own.get("opted_in", 0.2), 9))
        for name, decide, first_size, waste_gb_h, failed in settings:
            warm = waste_gb_h * (own.get("warm", 0.5) if name == OWN else 1.0)
            found.append(
                {
                    "trace": trace,
                    "policy": name,
                    "decide": decide,
                    "first_size": first_size,
                    "waste_gb_h": waste_gb_h,
                    "warm_gb_h": warm,
                    "failed_attempts": failed,
                    "lost_h": own.get("lost_h", 9.0),
                    "ms_per_decision": own.get("ms", 0.1),
                }
            )
    return found


def short(found: list[dict[str, Any]]) -> list[str]:
    return [bar.what for bar in bars(by_setting(found)) if not bar.holds]


def test_figures_that_reach_every_bar_pass() -> None:
    assert short(figures()) == []
    assert len(bars(by_setting(figures()))) == 6 + 6 + 5 * 4 + 1


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"waste": 1.1, "warm": 0.1}, "all waste"),
        ({"warm": 2.1}, "warm waste"),
        ({"failed": 400}, "failed attempts"),
        ({"at_start": 3000}, "decided at start"),
        ({"opted_in": 0.7}, "first size 0.75"),
        ({"ms": 0.6}, "ms a decision"),
    ],
)
def test_each_bar_can_be_missed(own: dict[str, float], words: str) -> None:
    missed = short(figures(**own))
    assert missed
    assert all(words in what for what in missed)


def test_a_baseline_that_no_longer_reproduces_is_told() -> None:
    found = figures()
    for each in found:
        if (each["trace"], each["policy"]) == ("nfcore-mag", "tovar"):
            each["failed_attempts"] += 6
    assert [what.partition(":")[0] for what in short(found)] == ["nfcore-mag"]


def test_a_bar_is_judged_before_its_figure_is_rounded() -> None:
    assert below("x", 0.60, 0.60).holds
    assert not below("x", 0.6001, 0.60).holds
    assert below("x", 0.6001, 0.60).measured == "0.600"


def test_the_best_rule_is_compared_at_the_same_moment_from_the_same_first_size() -> None:
    found = figures(at_start=600)
    rules = {"max-seen": 500, "tovar": 400, "preset": 900}
    for policy, waste_gb_h in rules.items():
        at_start = {"trace": "nfcore-mag", "policy": policy, "decide": "start", "first_size": 1.0}
        found.append({**at_start, "waste_gb_h": waste_gb_h, "failed_attempts": 7})
    lines = {(line.trace, line.decide, line.first_size): line for line in parity(by_setting(found))}
    assert len(lines) == len(TRACES) + 1
    line = lines["nfcore-mag", "start", 1.0]
    assert (line.own["waste_gb_h"], line.rival["policy"], line.ratio) == (600, "tovar", 1.5)


def test_without_a_rule_in_the_same_setting_nothing_is_compared() -> None:
    assert all(line.decide == "submit" for line in parity(by_setting(figures())))


def with_rules_at_start(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same figures, and rules that waste the same at start as the policy's default."""
    rules = [
        {**each, "policy": rule}
        for each in found
        if (each["policy"], each["decide"], each["first_size"]) == (OWN, "start", 1.0)
        for rule in RULES
    ]
    return [*found, *({**each, "waste_gb_h": 600.0, "warm_gb_h": 600.0} for each in rules)]


def unseen(**own: float) -> list[str]:
    lines = unseen_bars(by_setting(with_rules_at_start(figures(**own))))
    return [line.what for line in lines if not line.holds]


def test_every_trace_is_compared_with_the_rules_that_anybody_would_use_at_both_moments() -> None:
    lines = unseen_bars(by_setting(with_rules_at_start(figures())))
    assert all(line.holds for line in lines)
    assert len(lines) == 2 * len(TRACES) + len(MOMENTS) + 1 + len(LOST_H)
    assert len(FIVE) == len(TRACES) - 1


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"at_start": 619.0}, "at start"),
        ({"failed": 159}, "failed attempts over six traces"),
        ({"lost_h": 54.3}, "hours failed attempts ran"),
        ({"warm": 1.21}, "warm waste"),
    ],
)
def test_each_bar_on_all_traces_can_be_missed(own: dict[str, float], words: str) -> None:
    missed = unseen(**own)
    assert missed
    assert all(words in what for what in missed)


def missed_by(policy: str, failed: int, with_it: int) -> list[str]:
    """The bars missed by a policy that sees running attempts and fails that often in each trace."""
    found = figures(failed=failed)
    live = [
        {**each, "policy": policy, "failed_attempts": with_it}
        for each in found
        if (each["policy"], each["decide"]) == (OWN, "submit")
    ]
    lines = unseen_bars(by_setting([*found, *live]))
    return [line.what for line in lines if not line.holds]


@pytest.mark.parametrize("policy", ["plimsoll-live-half", LIVE_LATE.name])
def test_a_policy_that_sees_running_attempts_may_fail_less_often(policy: str) -> None:
    missed = missed_by(policy, failed=140, with_it=140)
    assert missed == [f"{policy}: failed attempts over six traces"] * (policy != LIVE_LATE.name)


@pytest.mark.parametrize(("with_it", "misses"), [(70, False), (71, True)])
def test_in_bursts_what_running_attempts_show_must_save_failures(
    with_it: int, *, misses: bool
) -> None:
    missed = missed_by("plimsoll-live", failed=100, with_it=with_it)
    words = "nfcore-chipseq: failed attempts with what running ones show ÷ without"
    assert missed == [words] * misses
