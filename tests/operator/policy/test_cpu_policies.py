"""The field cpu of a SizingPolicy and a TaskProfile, laid over each other."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.policy.policy_resolution import resolve
from plimsoll_operator.profile.status import cpu_status_of
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import CpuPolicy, Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge

EVERYTHING = {"mode": "enforce", "min": "50m", "max": 8, "headroom": 1.5, "minRuns": 2}


def cpu_of(namespace: Any, profile: Any = None) -> CpuPolicy:
    """The policy of a SizingPolicy's and a TaskProfile's field cpu; no part may be ignored."""
    resolved = resolve(Policy(), {"cpu": namespace}, {"cpu": profile})
    assert resolved.problems == ()
    return resolved.policy.cpu


def test_every_field_is_read() -> None:
    assert cpu_of(EVERYTHING) == CpuPolicy(
        mode=Mode.ENFORCE, min_millicores=50, max_millicores=8000, headroom=1.5, min_runs=2
    )


def test_nothing_said_is_the_default() -> None:
    assert cpu_of(None) == cpu_of({}) == CpuPolicy()
    assert CpuPolicy().mode is Mode.RECOMMEND


def test_a_profile_overrides_its_namespace_field_by_field() -> None:
    policy = cpu_of(EVERYTHING, {"headroom": 2, "mode": None})
    assert (policy.mode, policy.headroom, policy.max_millicores) == (Mode.ENFORCE, 2.0, 8000)


def test_an_unquoted_off_is_off() -> None:
    assert cpu_of({"mode": False}).mode is Mode.OFF


def test_a_maximum_lowers_an_inherited_minimum() -> None:
    policy = cpu_of({"min": "2"}, {"max": "1"})
    assert (policy.min_millicores, policy.max_millicores) == (1000, 1000)


def test_the_memorys_mode_is_another() -> None:
    resolved = resolve(Policy(mode=Mode.ENFORCE), {"cpu": {"mode": "off"}}, None).policy
    assert (resolved.mode, resolved.cpu.mode) == (Mode.ENFORCE, Mode.OFF)


@pytest.mark.parametrize(
    ("cpu", "words"),
    [
        ("enforce", "is not a map; write cpu: {mode: enforce}"),
        ({"mode": "on"}, "field mode that is not known; write one of off, recommend, enforce"),
        ({"min": "much"}, "field min that is not a quantity; write for example 250m or 2"),
        ({"max": "-1"}, "field max that is not a quantity; write for example 250m or 2"),
        ({"max": 0}, "below 1m"),
        ({"min": True}, "not a quantity"),
        ({"headroom": 0.5}, "field headroom that is out of range; write a number from 1 to 10"),
        ({"headroom": float("nan")}, "out of range"),
        ({"headroom": "1.2"}, "not a number"),
        ({"minRuns": 1.5}, "field minRuns that is not a whole number; write one from 1 to 10000"),
        ({"minRuns": float("inf")}, "out of range"),
        ({"minRuns": 0}, "field minRuns that is out of range; write a number from 1 to 10000"),
        ({"limit": "2"}, "unknown field 'limit'; write one of mode, min, max, headroom, minRuns"),
        ({"min": "2", "max": "1"}, "min larger than its max"),
    ],
)
def test_a_bad_field_is_ignored_and_said_and_costs_nothing_else(cpu: Any, words: str) -> None:
    resolved = resolve(Policy(), None, {"cpu": cpu, "bins": 3})
    (problem,) = resolved.problems
    assert problem.startswith("TaskProfile: cpu ")
    assert words in problem
    assert (resolved.policy.cpu, resolved.policy.max_bins) == (CpuPolicy(), 3)


USE = CpuUse(runs=20, high_cores=0.8301, peak_cores=3.25)
TASK = TaskId("shop", "train")


def test_the_status_says_what_was_used_and_what_follows() -> None:
    assert cpu_status_of(Knowledge(task=TASK, policy=Policy(), cpu=USE)) == {
        "mode": "recommend",
        "runs": 20,
        "used": "830m",
        "peak": "3250m",
        "request": "1",
        "why": "1.2 times 0.83 cores, which 95% of the last 20 runs stayed within on average",
    }


def test_too_few_runs_show_without_a_request() -> None:
    few = CpuUse(runs=2, high_cores=0.5)
    status = cpu_status_of(Knowledge(task=TASK, policy=Policy(), cpu=few))
    assert (status["runs"], status["peak"], status["request"]) == (2, None, None)
    assert status["why"].startswith("2 of the 5 runs needed")


@pytest.mark.parametrize(
    "policy", [Policy(cpu=CpuPolicy(mode=Mode.OFF)), Policy(mode=Mode.OFF)], ids=["cpu", "all"]
)
def test_off_shows_no_figures(policy: Policy) -> None:
    status = cpu_status_of(Knowledge(task=TASK, policy=policy, cpu=USE))
    assert status.pop("mode") == "off"
    assert set(status.values()) == {None}
