"""Makes the status of a ProfilingCampaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names.conditions import (
    ConditionStatus,
    ConditionType,
    Finding,
    conditions_of,
)
from plimsoll_operator.wording.figure_words import words_for_share
from plimsoll_predictor.campaigns.ending import Ending, spent
from plimsoll_predictor.campaigns.planning import AGENTS_SILENT_S, TRIED_AFTER_S
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState, latest_of
from plimsoll_predictor.campaigns.saving import best_bins, learned_of, saving_of
from plimsoll_predictor.core.units import counted, words_for_bytes

DELETED: Final = "Deleted"
"""The ending of a campaign whose object was deleted while it ran."""


class Phase(StrEnum):
    """What a campaign is doing."""

    REFUSED = "Refused"
    WAITING = "Waiting"
    RUNNING = "Running"
    FINISHED = "Finished"
    STOPPED = "Stopped"


_NO_NEED: Final = frozenset(
    {RunState.REFUSED, RunState.STUCK, RunState.FAILED, RunState.UNMEASURED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A campaign's progress. killed: attempts; the others: scenarios."""

    scenarios: int
    waiting: int
    running: int
    done: int
    failed: int
    killed: int

    @classmethod
    def of(cls, runs: Sequence[CampaignRun]) -> Counts:
        """Count runs: all attempts at all scenarios."""
        latest = latest_of(runs)
        states = [run.state for run in latest.values()]
        given_up = {RunState.KILLED, RunState.INTERRUPTED}
        return cls(
            scenarios=len(latest),
            waiting=states.count(RunState.REGISTERED),
            running=sum(each.is_under_way or each is RunState.EXECUTED for each in states),
            done=states.count(RunState.LEARNED),
            failed=sum(each in _NO_NEED or each in given_up for each in states),
            killed=sum(run.state is RunState.KILLED for run in runs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All inputs of a status.

    refusal: why it cannot run, as a reason and a sentence; None if it can.
    waits_for: the campaign that runs the same task; None if none does.
    ending: why it begins no more runs; None while it may. ended: nothing is under way either.
    silent_s: how long no agent was heard. not_made: why a run's Job is not made yet; empty if all
    are made. left_to: the command that deletes its Jobs, if Plimsoll may not; else empty.
    going: how many runs may have a Job that has not ended.
    """

    generation: int | None
    refusal: tuple[str, str] | None = None
    waits_for: str | None = None
    runs: Sequence[CampaignRun] = ()
    reference_bytes: int = 0
    duplicates: int = 0
    ending: Ending | None = None
    ended: bool = False
    silent_s: float = 0.0
    not_made: str = ""
    left_to: str = ""
    going: int = 0

    @property
    def is_kept_back(self) -> bool:
        """Whether it may begin no run at present."""
        return self.refusal is not None or self.waits_for is not None

    @property
    def may_go_on(self) -> bool:
        """Whether it is kept back, and goes on once nothing keeps it back; a stopped one ends."""
        return self.is_kept_back and not self.ended and self.ending is not Ending.STOPPED


_MOST_WORDS: Final = 300
_ENDINGS: Final[Mapping[Ending, str]] = {
    Ending.ALL_RUN: "every scenario has been run",
    Ending.BUDGET_SPENT: "its budget is used up",
    Ending.NOTHING_MOVES: "more runs would hardly change the estimated saving",
    Ending.STOPPED: "it was stopped",
    Ending.NEVER_STARTS: "its pods never start; mend what holds them back, in spec.podTemplate or"
    " in the cluster, and create another campaign",
    Ending.PROGRAM_FAILS: "its program fails every time, whatever its memory; mend the program, or"
    " its command and features in spec.podTemplate, and create another campaign",
    Ending.NOT_MEASURED: "no agent measured any of its runs; is there one on each of their nodes?",
}


def status_of(state: State, previous: Mapping[str, Any], now_s: float) -> dict[str, Any]:
    """Return the status. previous: the one before. now_s: Unix seconds."""
    counts = Counts.of(state.runs)
    learned = learned_of(state.runs)
    option = best_bins(learned, state.reference_bytes)
    saving = saving_of(state.runs, state.reference_bytes)
    ceilings = option.bins.ceilings_bytes if option else ()
    used = spent(state.runs, now_s)
    return {
        "observedGeneration": state.generation,
        "phase": phase_of(state).value,
        "scenarios": counts.scenarios,
        "waiting": counts.waiting,
        "running": counts.running,
        "done": counts.done,
        "failed": counts.failed,
        "killed": counts.killed,
        "binCeilings": words_for_bins(ceilings),
        "estSaved": words_for_saving(saving.expected if saving else None),
        "gigabyteHours": f"{used.gb_hours or 0.0:.3g}",
        "conditions": conditions_of(
            {
                ConditionType.ACCEPTED: _accepted(state),
                ConditionType.PROGRESSING: _progressing(state, counts),
            },
            previous.get("conditions"),
            now_s,
        ),
    }


def phase_of(state: State) -> Phase:
    """Return what the campaign is doing."""
    if state.may_go_on:
        return Phase.WAITING if state.refusal is None else Phase.REFUSED
    if not state.ended:
        return Phase.RUNNING
    return Phase.STOPPED if state.ending is Ending.STOPPED else Phase.FINISHED


def words_for_bins(ceilings_bytes: Sequence[int]) -> str:
    """Return the ceilings as people read them; empty if no need is known."""
    return ", ".join(words_for_bytes(each) for each in ceilings_bytes)


def words_for_ending(ending: str | None) -> str:
    """Return why a campaign ended; words of a newer version are returned as they are.

    >>> words_for_ending(None), words_for_ending("AllRun")
    ('it still runs', 'every scenario has been run')
    """
    if ending is None:
        return "it still runs"
    if ending == DELETED:
        return "it was deleted while it ran"
    return _ENDINGS[Ending(ending)] if ending in set(Ending) else ending


def words_for_saving(improvement: float | None) -> str:
    """Return the estimated saving; empty if too little is known, 0% if it would be a loss."""
    return "" if improvement is None else words_for_share(max(0.0, improvement), 1.0)


def _accepted(state: State) -> Finding:
    if state.refusal is not None:
        return Finding(ConditionStatus.FALSE, *state.refusal)
    if state.duplicates:
        words = f"{counted(state.duplicates, 'scenario')} left out, as others are the same"
        return Finding(ConditionStatus.TRUE, "DuplicatesLeftOut", words)
    scenarios = latest_of(state.runs).values()
    stands_for = sum(run.weight for run in scenarios)
    if stands_for > len(scenarios):
        words = f"its {counted(len(scenarios), 'scenario')} stand for {stands_for:,} recorded runs"
        return Finding(ConditionStatus.TRUE, "Valid", words)
    return Finding(ConditionStatus.TRUE, "Valid", "it can run as it is written")


def _progressing(state: State, counts: Counts) -> Finding:
    if state.may_go_on:
        return _kept_back(state)
    far = f"{counts.done} of {counted(counts.scenarios, 'scenario')} done, {counts.failed} failed"
    trouble = _left(state) + _trouble(state.runs)
    if state.ending is None and state.silent_s > AGENTS_SILENT_S:
        most = "one at a time begins" if state.silent_s > TRIED_AFTER_S else "none begins"
        words = f"no agent reports, so no run would be measured: {most}; {far}{trouble}"
        return Finding(ConditionStatus.TRUE, "WaitsForAgents", words)
    if state.not_made and not state.ended:
        words = f"a Job is not made, and is tried again: {state.not_made[:_MOST_WORDS]}; {far}"
        return Finding(ConditionStatus.TRUE, "JobsNotMade", words)
    if state.ending is None:
        words = f"{far}, {counts.running} under way{_waiting(state.runs)}{trouble}"
        return Finding(ConditionStatus.TRUE, "Running", words)
    why = _ENDINGS[state.ending]
    if not state.ended:
        going = f"{counts.running} still under way{_waiting(state.runs)}"
        words = f"{why}; {going}; {far}{trouble}"
        return Finding(ConditionStatus.TRUE, "Ending", words)
    return Finding(ConditionStatus.FALSE, state.ending.value, f"{why}; {far}{trouble}")


def _kept_back(state: State) -> Finding:
    beside = f"; {counted(state.going, 'run')} that began may go on" if state.going else ""
    if state.refusal is not None:
        _, why = state.refusal
        what = "no more runs begin" if state.going else "nothing runs"
        words = f"{what} until this is mended: {why}{beside}"
        return Finding(ConditionStatus.FALSE, "Refused", words)
    words = f"it waits for the end of {state.waits_for}, which runs the same task{beside}"
    return Finding(ConditionStatus.FALSE, "WaitsForAnother", words)


def _left(state: State) -> str:
    """Return who may delete the Jobs of a stopped campaign, if Plimsoll may not, in words."""
    if not state.left_to or all(run.created_s is None for run in state.runs):
        return ""
    return f"; Plimsoll may not delete its Jobs, and those that run go on: `{state.left_to}`"


def _waiting(runs: Sequence[CampaignRun]) -> str:
    """Return what keeps a run from its start, in words."""
    kept = next((run for run in runs if run.state is RunState.STARTING and run.note), None)
    return f"; scenario {kept.scenario} waits: {kept.note}" if kept else ""


def _trouble(runs: Sequence[CampaignRun]) -> str:
    """Return what became of the last scenario that failed, in words."""
    failed = [run for run in latest_of(runs).values() if run.note and not run.state.is_open]
    if not failed:
        return ""
    last = max(failed, key=lambda run: run.ended_s or 0.0)
    return f"; scenario {last.scenario}: {last.note}"
