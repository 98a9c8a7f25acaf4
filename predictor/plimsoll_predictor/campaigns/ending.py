"""Why a campaign begins no more runs, and what its runs have used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final

from plimsoll_predictor.campaigns.rules import Budget, Rules
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.settled import moves_no_more
from plimsoll_predictor.core.units import HOUR_S, gb_hours

NEVER_STARTS_AFTER: Final = 2
"""After so many runs stuck before any container started, the template is at fault."""
FAILS_AFTER: Final = 5
"""After so many runs failed before any succeeded, the program is at fault."""
NOT_MEASURED_AFTER: Final = 5
"""After so many runs succeeded and none was measured, the nodes' agents are at fault."""
_NOT_STARTED: Final = frozenset({RunState.STUCK, RunState.REFUSED})
_INTERRUPTED: Final = frozenset({RunState.INTERRUPTED})
_FAILED: Final = frozenset({RunState.FAILED})
_NOT_MEASURED: Final = frozenset({RunState.UNMEASURED})


class Ending(StrEnum):
    """Why a campaign starts no more runs."""

    ALL_RUN = "AllRun"
    BUDGET_SPENT = "BudgetSpent"
    NOTHING_MOVES = "NothingMoves"
    STOPPED = "Stopped"
    NEVER_STARTS = "NeverStarts"
    PROGRAM_FAILS = "ProgramFails"
    NOT_MEASURED = "NotMeasured"


def spent(runs: Sequence[CampaignRun], now_s: float) -> Budget:
    """Return what runs have used so far; one under way counts until now."""
    used = [run for run in runs if run.created_s is not None]
    return Budget(
        runs=len(used),
        gb_hours=sum(gb_hours(run.memory_bytes, _held_s(run, now_s)) for run in used),
    )


def ending_of(rules: Rules, runs: Sequence[CampaignRun], now_s: float) -> Ending | None:
    """Return why no more runs begin; None while some may."""
    for ending, holds in (
        (Ending.STOPPED, rules.stopped),
        (Ending.NEVER_STARTS, _only(runs, _NOT_STARTED, NEVER_STARTS_AFTER, _INTERRUPTED)),
        (Ending.PROGRAM_FAILS, _only(runs, _FAILED, FAILS_AFTER)),
        (Ending.NOT_MEASURED, _only(runs, _NOT_MEASURED, NOT_MEASURED_AFTER)),
        (Ending.BUDGET_SPENT, _over(rules, runs, now_s)),
        (Ending.ALL_RUN, all(run.state is not RunState.REGISTERED for run in runs)),
        (Ending.NOTHING_MOVES, _settled(rules, runs)),
    ):
        if holds:
            return ending
    return None


def _settled(rules: Rules, runs: Sequence[CampaignRun]) -> bool:
    stop = rules.stop
    return stop is not None and moves_no_more(runs, rules.reference_bytes, stop.change, stop.runs)


def _over(rules: Rules, runs: Sequence[CampaignRun], now_s: float) -> bool:
    if not any(run.state is RunState.REGISTERED for run in runs):
        return False
    used, budget = spent(runs, now_s), rules.budget
    return (
        (budget.runs is not None and (used.runs or 0) >= budget.runs)
        or (budget.gb_hours is not None and (used.gb_hours or 0.0) >= budget.gb_hours)
        or (budget.hours is not None and now_s - rules.began_s >= budget.hours * HOUR_S)
    )


def _only(
    runs: Sequence[CampaignRun],
    states: Collection[RunState],
    least: int,
    besides: Collection[RunState] = (),
) -> bool:
    """Say whether all ended runs ended so: at least ``least``, or as many as scenarios.

    besides: how runs may have ended, too; they do not count.
    """
    went = [run.state for run in runs if not run.state.is_open and run.state not in besides]
    enough = min(least, len({run.scenario for run in runs}))
    return len(went) >= enough and all(each in states for each in went)


def _held_s(run: CampaignRun, now_s: float) -> float:
    if run.runtime_s is not None:
        return run.runtime_s
    if run.state is RunState.REFUSED:
        return 0.0
    until_s = now_s if run.ended_s is None else run.ended_s
    return max(0.0, since(run.created_s, until_s))


def since(at_s: float | None, now_s: float) -> float:
    """Return the seconds since something happened; 0 if it did not."""
    return 0.0 if at_s is None else now_s - at_s
