"""Decides how much CPU a task's pods request, from what its runs used; never a limit. Pure.

CPU is compressible: with too little of it a run is slowed down while its node is busy, and is never
killed. So no run has to be classified, and no mistake needs a price: one figure serves every run of
a task, a high quantile of the mean cores that the newest runs used, with some headroom.

The mean over a run counts, not its highest minute, because a request is a share of a node held for
the whole run; above it a run may still use the CPU that is idle on the node, up to its limit. The
request cannot fall step by step either: the kernel gives a run that wants more at least its
request, so that its mean then reaches the request, and the next decision adds the headroom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from plimsoll_predictor.core.cpu import HIGH_QUANTILE, WINDOW_RUNS, CpuUse
from plimsoll_predictor.core.policy import Policy

STEP_MILLICORES: Final = 10
"""Requests are rounded up to it, so that small differences between runs do not change them."""


class CpuReason(StrEnum):
    """The reason for a CPU request."""

    USED = "used"
    """The request follows what the task's runs used."""
    COLD_START = "cold-start"
    """Too few runs are known; the user's request is kept."""
    LEFT = "left"
    """Sizing it would break something else, such as the pod's quality-of-service class."""


@dataclass(frozen=True, slots=True)
class CpuAsk:
    """The CPU that a container asks for. None where it asks nothing, or has no limit."""

    request_millicores: int | None
    limit_millicores: int | None = None


@dataclass(frozen=True, slots=True)
class CpuBounds:
    """The bounds that the cluster sets. None where nothing bounds.

    floor_millicores: the LimitRange's minimum, or what its ratio leaves of the limit.
    cap_millicores: what a raise would still be admitted and scheduled with.
    """

    floor_millicores: int | None = None
    cap_millicores: int | None = None


@dataclass(frozen=True, slots=True)
class CpuDecision:
    """One pod's CPU request, and why. request_millicores: None leaves what its author wrote."""

    request_millicores: int | None
    reason: CpuReason
    why: str


def decide_cpu(ask: CpuAsk, use: CpuUse | None, policy: Policy, bounds: CpuBounds) -> CpuDecision:
    """Decide one pod's CPU request. Modes are the caller's matter: this is the right size.

    The limit always holds, and so does the policy's maximum, but for what the cluster demands of a
    request that was written. The cluster's cap holds back a raise and never lowers what the user
    asked for; floors give way to all of them. If they leave nothing to a pod without a request, it
    gets none: a request of zero is one, too.
    """
    runs, needed = use.runs if use else 0, min(policy.cpu.min_runs, WINDOW_RUNS)
    if use is None or runs < needed:
        why = f"{runs} of the {needed} runs needed are known; the CPU request is kept"
        return CpuDecision(None, CpuReason.COLD_START, why)
    wanted, why = _wanted(use, policy.cpu.headroom)
    request, note = _within(wanted, ask, policy, bounds)
    why = f"{why}; {note}" if note else why
    if request == 0 and ask.request_millicores is None:
        return CpuDecision(None, CpuReason.LEFT, f"{why}; that is nothing, and none was written")
    return CpuDecision(request, CpuReason.USED, why)


@lru_cache(maxsize=4096)  # the same for every pod of a task, and admission asks for each
def _wanted(use: CpuUse, headroom: float) -> tuple[int, str]:
    """Millicores from the use alone, and why."""
    why = (
        f"{headroom:g} times {words_for_cores(use.high_cores)}, which"
        f" {HIGH_QUANTILE:.0%} of the last {use.runs} runs stayed within on average"
    )
    return _rounded_up(use.high_cores * headroom), why


def words_for_cores(cores: float) -> str:
    """Cores as people read them.

    >>> words_for_cores(0.25), words_for_cores(3.456), words_for_cores(1)
    ('0.25 cores', '3.46 cores', '1 core')
    """
    number = f"{cores:.2f}".rstrip("0").rstrip(".")
    return f"{number} core" if number == "1" else f"{number} cores"


def _rounded_up(cores: float) -> int:
    """Round up to whole steps of millicores, except for a floating-point error above a step."""
    return math.ceil(round(cores * 1000 / STEP_MILLICORES, 6)) * STEP_MILLICORES


def _within(wanted: int, ask: CpuAsk, policy: Policy, bounds: CpuBounds) -> tuple[int, str]:
    floor = max(policy.cpu.min_millicores, bounds.floor_millicores or 0)
    request, note = wanted, ""
    if floor > request:
        request, note = floor, f"raised to the minimum of {words_for_cores(floor / 1000)}"
    asked, cap = ask.request_millicores or 0, bounds.cap_millicores
    if cap is not None and request > max(cap, asked):
        request, note = max(cap, asked), "held back at what the cluster has room for"
    for most, whose in (
        _most_by_policy(policy, bounds.floor_millicores or 0, asked),
        (ask.limit_millicores, "the limit"),
    ):
        if most is not None and request > most:
            request, note = most, f"cut to {whose} of {words_for_cores(most / 1000)}"
    return request, note


def _most_by_policy(policy: Policy, demanded: int, asked: int) -> tuple[int | None, str]:
    """Return the most that the policy allows, in millicores, and what it is, in words.

    demanded: by a LimitRange's minimum or ratio. If it admits what was written, it must admit what
    is set; so the policy's maximum gives way up to what was written.
    """
    most, demanded = policy.cpu.max_millicores, min(demanded, asked)
    if most is not None and demanded > most:
        return demanded, "the LimitRange's minimum"
    return most, "the policy's maximum"
