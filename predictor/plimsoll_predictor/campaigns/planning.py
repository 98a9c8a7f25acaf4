"""Decides what a campaign does next, from what is stored of it and what the cluster shows.

Every step can be repeated. A run is CREATING in the store before its Job is made, and the Job's
name is made of the campaign and the run, so a repeated creation finds the Job. What ended a run is
read from the observations, which outlive the Job: nothing that succeeded is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.campaigns.ending import STARTED, Ending, ending_of, since, spent
from plimsoll_predictor.campaigns.rules import Order, Rules
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState, latest_of
from plimsoll_predictor.campaigns.seen import OBSERVED_WITHIN_S, Seen, SeenEnd, SeenJob
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import counted, words_for_bytes

LIFT: Final = 2.0
"""Factor from a killed run's memory to its next attempt's."""
MOST_INTERRUPTIONS: Final = 3
"""Attempts in a row that may end through no fault of their own, or unseen."""
ENDED_KEPT_S: Final = 900.0
"""How long a Job whose end is known is left, so that people can read its log."""
GOES_ON_S: Final = 60.0
"""How long a pod may go on after its run ended, for example in a second container."""
TOLD_AFTER_S: Final = 30.0
"""A run without room for so long reports it; a pod is made and placed within seconds."""
AGENTS_SILENT_S: Final = 12.0
"""Two beats of an agent, and a little."""
TRIED_AFTER_S: Final = 120.0
"""While no agent is heard, no run begins for so long; then one at a time does."""
_FOLLOWED: Final = frozenset(
    each for each in RunState if each.is_open and each is not RunState.REGISTERED
)
"""States of runs about which the cluster may have news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What a run's step depends on besides the run.

    claimed: pods of attempts at its scenario.
    started: whether anything of the campaign ever started. running: whether something runs now.
    """

    seen: Seen
    claimed: frozenset[str]
    started: bool
    running: bool
    now_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What is to be done, in this order.

    changed: rows to store, in one transaction. create: runs whose Job is to be made; all of them
    are CREATING in the store by then. delete: runs whose Job is to be deleted.
    ending: why no more runs begin; None while some may. ended: whether nothing is under way either.
    """

    runs: tuple[CampaignRun, ...]
    changed: tuple[CampaignRun, ...]
    create: tuple[CampaignRun, ...]
    delete: tuple[CampaignRun, ...]
    ending: Ending | None
    ended: bool


Choose = Callable[[Sequence[CampaignRun], Sequence[CampaignRun]], CampaignRun]
"""Chooses the next of the waiting runs (second), given all runs (first)."""


def next_steps(
    rules: Rules, runs: Sequence[CampaignRun], seen: Seen, now_s: float, choose: Choose
) -> Steps:
    """Return what follows from what is stored and seen.

    runs: all attempts at all scenarios. choose: for the order MOST_TO_LEARN. now_s: Unix seconds.
    """
    rows = {run.key: run for run in runs}
    going = (run for run in latest_of(runs).values() if run.state in _FOLLOWED)
    for run in going:
        for each in _advanced(rules, run, _around(rows.values(), run.scenario, seen, now_s)):
            rows[each.key] = each
    ending = ending_of(rules, list(rows.values()), now_s)
    staying = sum(_stays(rules, run, seen.jobs.get(run.key), now_s) for run in rows.values())
    if ending is None:
        allowed = replace(rules, parallelism=most_at_once(rules, seen.silent_s) - staying)
        for run in _beginning(allowed, list(rows.values()), now_s, choose):
            rows[run.key] = run
    if ending is Ending.STOPPED:
        for each in [each for each in rows.values() if each.state.is_under_way]:
            words = "stopped before it ended"
            rows[each.key] = replace(each, state=RunState.INTERRUPTED, ended_s=now_s, note=words)
    before = {run.key: run for run in runs}
    every = tuple(rows[key] for key in sorted(rows))
    return Steps(
        runs=every,
        changed=tuple(each for each in every if before.get(each.key) != each),
        create=tuple(each for each in every if each.state is RunState.CREATING),
        delete=tuple(
            each for each in every if _is_left(rules, each, seen.jobs.get(each.key), now_s)
        ),
        ending=ending,
        ended=ending is not None and not staying and not any(_holds_up(each) for each in every),
    )


def most_at_once(rules: Rules, silent_s: float) -> int:
    """Return how many runs may be under way while no agent was heard for so long.

    After a while one may be: its pod may bring up a node, and with it an agent.
    """
    if silent_s <= AGENTS_SILENT_S:
        return rules.parallelism
    return min(1, rules.parallelism) if silent_s > TRIED_AFTER_S else 0


def refused(run: CampaignRun, why: str, now_s: float) -> CampaignRun:
    """Return a run whose Job the API server refused for good."""
    return replace(run, state=RunState.REFUSED, ended_s=now_s, note=why)


def _holds_up(run: CampaignRun) -> bool:
    return run.state in _FOLLOWED


def _is_left(rules: Rules, run: CampaignRun, job: SeenJob | None, now_s: float) -> bool:
    """Say whether to delete a run's Job: it ended a while ago, or goes on after its run's end."""
    if job is None or run.state.is_open:
        return False
    over_s = since(run.ended_s, now_s)
    if job.succeeded or job.failed:
        return over_s >= ENDED_KEPT_S
    if run.state is RunState.INTERRUPTED and (rules.stopped or rules.kept_back):
        return True
    return (rules.stopped and job.goes_on) or run.state is RunState.STUCK or over_s >= GOES_ON_S


def _stays(rules: Rules, run: CampaignRun, job: SeenJob | None, now_s: float) -> bool:
    """Say whether a run's pod still uses memory, though the run does not count as under way."""
    if job is None or job.succeeded or job.failed or not job.goes_on:
        return False
    return not (run.state.is_under_way or _is_left(rules, run, job, now_s))


def _around(runs: Collection[CampaignRun], scenario: int, seen: Seen, now_s: float) -> _Around:
    claimed = (run.attempt_uid for run in runs if run.scenario == scenario)
    return _Around(
        seen=seen,
        claimed=frozenset(uid for uid in claimed if uid is not None),
        started=any(run.state in STARTED for run in runs),
        running=any(run.state is RunState.RUNNING for run in runs),
        now_s=now_s,
    )


def _advanced(rules: Rules, run: CampaignRun, around: _Around) -> tuple[CampaignRun, ...]:
    """Return a scenario's latest attempt as it is now, and the attempt that follows it."""
    ends = [
        end
        for end in around.seen.ends.get(run.scenario, ())
        if end.attempt_uid not in around.claimed or end.attempt_uid == run.attempt_uid
    ]
    if ends:
        return _ended(rules, run, ends[0], around)
    job = around.seen.jobs.get(run.key)
    if job is not None and job.pod_uid is not None:
        # Its end may come after the attempt is given up, and is not that of the next attempt.
        run = replace(run, attempt_uid=job.pod_uid)
    return _by_its_job(rules, run, around)


def _ended(
    rules: Rules, run: CampaignRun, end: SeenEnd, around: _Around
) -> tuple[CampaignRun, ...]:
    known = replace(
        run,
        attempt_uid=end.attempt_uid,
        runtime_s=end.runtime_s,
        peak_bytes=end.peak_bytes,
        ended_s=_ended_s(run, end.finished_s, around),
        note="",
    )
    if end.outcome is Outcome.SUCCEEDED:
        return (_measured(known, around),)
    if end.outcome is Outcome.OOM_KILLED or (end.cause is not None and end.cause.is_own_heap):
        return _killed(rules, known)
    job = around.seen.jobs.get(run.key)
    if end.cause is Cause.DEADLINE or (job is not None and job.too_long):
        words = "it took longer than its activeDeadlineSeconds; that says nothing of its size"
        return (replace(known, state=RunState.FAILED, note=words),)
    if end.cause is Cause.NEVER_STARTED and end.exit_code is None:
        # A program that cannot be executed has an exit code.
        return _never_started(known)
    if end.cause is Cause.KILLED and around.seen.waits(known.ended_s, around.now_s):
        # Its last reading may still say that it was killed for memory.
        return (replace(known, state=RunState.RUNNING),)
    if end.outcome is Outcome.FAILED:
        cause = "of its own" if end.cause is None else end.cause.value
        words = f"its program failed ({cause}); that says nothing of its size"
        return (replace(known, state=RunState.FAILED, note=words),)
    return _interrupted(known, f"{end.outcome.value}, by no fault of its own")


def _ended_s(run: CampaignRun, told_s: float | None, around: _Around) -> float:
    """Return when a run ended, by the controller's clock. told_s: by its node's or the cluster's.

    Clocks differ, maybe by minutes, so an end is as old as the look that first sees it. Only one
    that may have come while nobody looked is as old as it says.
    """
    if run.ended_s is not None:
        return run.ended_s
    if told_s is None or around.seen.looked_s >= OBSERVED_WITHIN_S:
        return around.now_s
    return min(told_s, around.now_s)


def _measured(run: CampaignRun, around: _Around) -> CampaignRun:
    if run.peak_bytes is not None:
        return replace(run, state=RunState.LEARNED)
    if around.seen.waits(run.ended_s, around.now_s):
        return replace(run, state=RunState.EXECUTED)
    words = "it succeeded, and no agent measured it; is an agent on its node?"
    return replace(run, state=RunState.UNMEASURED, note=words)


def _killed(rules: Rules, run: CampaignRun) -> tuple[CampaignRun, ...]:
    size = words_for_bytes(run.memory_bytes)
    if run.lifts >= rules.max_lifts:
        words = f"killed at {size}, after {counted(rules.max_lifts, 'lift')}; raise spec.memory"
        return (replace(run, state=RunState.KILLED, note=words),)
    killed = replace(run, state=RunState.KILLED, note=f"killed at {size}")
    return killed, _after(killed, int(run.memory_bytes * LIFT), lifts=run.lifts + 1)


def _interrupted(run: CampaignRun, why: str) -> tuple[CampaignRun, ...]:
    return _once_more(replace(run, state=RunState.INTERRUPTED, note=why))


def _never_started(run: CampaignRun) -> tuple[CampaignRun, ...]:
    """Return a run whose pod failed without a container: another node may take the next one."""
    again = _interrupted(run, "its node refused its pod, or an init container failed")
    return again if len(again) > 1 else (replace(again[0], state=RunState.STUCK),)


def _once_more(run: CampaignRun) -> tuple[CampaignRun, ...]:
    """Return a run without a result, and one that follows it with the same memory."""
    if run.attempt - run.lifts > MOST_INTERRUPTIONS:
        return (run,)
    return run, _after(run, run.memory_bytes, lifts=run.lifts)


def _after(run: CampaignRun, memory_bytes: int, *, lifts: int) -> CampaignRun:
    return CampaignRun(
        scenario=run.scenario,
        attempt=run.attempt + 1,
        values=run.values,
        memory_bytes=memory_bytes,
        lifts=lifts,
        weight=run.weight,
    )


def _by_its_job(rules: Rules, run: CampaignRun, around: _Around) -> tuple[CampaignRun, ...]:
    """Return what follows from a run's Job while no observation says how it ended."""
    job = around.seen.jobs.get(run.key)
    if job is None and run.state is RunState.CREATING:
        # Its Job is still to be made: until then the run uses no memory, and is not stuck.
        return (replace(run, created_s=around.now_s),)
    if job is None:
        # The Job was made, and is gone before anybody observed it.
        return _unseen(run, "its Job is gone", around)
    if job.succeeded or job.failed:
        return _finished(run, job, around)
    if job.started or run.state is RunState.RUNNING:
        # A pod that ended does not show here; its Job reports the end a little later.
        return (replace(run, state=RunState.RUNNING, note=""),)
    waited_s = since(run.created_s, around.now_s)
    if waited_s < rules.start_within_s or (job.lacks_room and around.running):
        # If another run of the campaign takes its room, it begins after that run.
        told = job.lacks_room and waited_s >= TOLD_AFTER_S
        return (replace(run, state=RunState.STARTING, note=job.stuck_why if told else ""),)
    return _stuck(rules, run, job, around)


def _stuck(
    rules: Rules, run: CampaignRun, job: SeenJob, around: _Around
) -> tuple[CampaignRun, ...]:
    words = f"nothing started within {rules.start_within_s:g} s: {job.stuck_why or 'no pod'}"
    if rules.kept_back:
        # What keeps the campaign back may be why nothing starts, so the template is not at fault.
        again = replace(run, state=RunState.INTERRUPTED, ended_s=around.now_s, note=words)
        return again, _after(again, run.memory_bytes, lifts=run.lifts)
    stuck = replace(run, state=RunState.STUCK, ended_s=around.now_s, note=words)
    return _once_more(stuck) if around.started else (stuck,)


def _finished(run: CampaignRun, job: SeenJob, around: _Around) -> tuple[CampaignRun, ...]:
    ended_s = _ended_s(run, job.finished_s, around)
    waits = around.seen.waits(ended_s, around.now_s)
    if job.succeeded:
        executed = replace(run, ended_s=ended_s, state=RunState.EXECUTED, note="")
        if waits:
            return (executed,)
        words = "it succeeded, and was not observed; is its task's mode off?"
        return (replace(executed, state=RunState.UNMEASURED, note=words),)
    failed = replace(run, ended_s=ended_s, note="")
    if waits:
        return (failed,)
    words = f"its Job failed, and no pod of it was observed: {job.stuck_why or 'no reason given'}"
    return (replace(failed, state=RunState.FAILED, note=words),)


def _unseen(run: CampaignRun, why: str, around: _Around) -> tuple[CampaignRun, ...]:
    waits = replace(run, ended_s=run.ended_s or around.now_s)
    if around.seen.waits(waits.ended_s, around.now_s):
        return (waits,)
    return _interrupted(waits, f"{why}, and no end of it was observed")


def _beginning(
    rules: Rules, runs: Sequence[CampaignRun], now_s: float, choose: Choose
) -> list[CampaignRun]:
    """Return the runs that begin now, CREATING."""
    rows = {run.key: run for run in runs}
    free = rules.parallelism - sum(run.state.is_under_way for run in runs)
    if rules.budget.runs is not None:
        free = min(free, rules.budget.runs - (spent(runs, now_s).runs or 0))
    begun: list[CampaignRun] = []
    while free > len(begun):
        waiting = [run for run in rows.values() if run.state is RunState.REGISTERED]
        if not waiting:
            break
        again = [run for run in waiting if run.attempt > 1]
        run = again[0] if again else _chosen(rules.order, list(rows.values()), waiting, choose)
        rows[run.key] = replace(run, state=RunState.CREATING, created_s=now_s)
        begun.append(rows[run.key])
    return begun


def _chosen(
    order: Order, runs: Sequence[CampaignRun], waiting: Sequence[CampaignRun], choose: Choose
) -> CampaignRun:
    if order is Order.PLAIN:
        return min(waiting, key=lambda run: run.key)
    return choose(runs, waiting)
