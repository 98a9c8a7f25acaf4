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
STARTED: Final = frozenset(RunState) - {
    *(RunState.REGISTERED, RunState.CREATING, RunState.STARTING),
    *(RunState.REFUSED, RunState.STUCK, RunState.INTERRUPTED),
}
"""States of a run that show that the template can start."""
_NOT_STARTED: Final = frozenset({RunState.STUCK, RunState.REFUSED})
_FAILED: Final = frozenset({RunState.FAILED})
_SUCCEEDED: Final = frozenset({RunState.EXECUTED, RunState.UNMEASURED, RunState.LEARNED})
_NOT_MEASURED: Final = frozenset({RunState.UNMEASURED})
_LEARNED: Final = frozenset({RunState.LEARNED})


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
    """Return why no more runs begin; None while some may, or may once nothing keeps it back."""
    waiting = any(run.state is RunState.REGISTERED for run in runs)
    if rules.kept_back and waiting and not rules.stopped:
        return None
    for ending, holds in (
        (Ending.STOPPED, rules.stopped),
        (Ending.NEVER_STARTS, _went(runs, _NOT_STARTED, NEVER_STARTS_AFTER, before=STARTED)),
        (Ending.PROGRAM_FAILS, _went(runs, _FAILED, FAILS_AFTER, before=_SUCCEEDED)),
        (Ending.NOT_MEASURED, _went(runs, _NOT_MEASURED, NOT_MEASURED_AFTER, before=_LEARNED)),
        (Ending.BUDGET_SPENT, _over(rules, runs, now_s)),
        (Ending.ALL_RUN, not waiting),
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


def _went(
    runs: Sequence[CampaignRun],
    states: Collection[RunState],
    least: int,
    *,
    before: frozenset[RunState],
) -> bool:
    """Say whether so many runs went so, and none went as in ``before``.

    least: or as many as there are scenarios. Runs in other states say nothing either way: one that
    its node ended, or that was killed for memory, does not show that the program works.
    """
    found = [run.state for run in runs]
    enough = min(least, len({run.scenario for run in runs}))
    return sum(each in states for each in found) >= enough and before.isdisjoint(found)


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
