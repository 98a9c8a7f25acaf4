"""One attempt at one scenario of a campaign, and the states that it goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """The states of a run's profiling, after Table 2 of the thesis (chapter 4.2.3.3).

    ============ ==== ============================== ========================================
    state        id   of Table 2                     here
    ============ ==== ============================== ========================================
    REGISTERED   0    registration, initial          no Job is made of it yet
    CREATING     0    (between registration and 11)  its Job is asked for, maybe made
    REFUSED      10   deployment, trigger failed     the API server refuses its Job
    STARTING     11   deploying                      its Job is there, no container has started
    STUCK        15   deployment failed              nothing started in time; its Job is deleted
    RUNNING      31   executing (17 is passed)       a container has started
    FAILED       35   execution failed               its program failed: that is no size
    KILLED       35   execution failed               killed for memory: another attempt follows
    INTERRUPTED  35   execution failed               ended by its node: another attempt follows
    EXECUTED     51   profiling (37 is passed)       it succeeded, its peak is waited for
    UNMEASURED   55   profiling failed               it succeeded, and nobody measured it
    LEARNED      57   finished                       it succeeded, and its need is known
    ============ ==== ============================== ========================================

    A Job is deployed, triggered and executed by one call, so 17 and 30 have no state of their own,
    and the profiling is the observation, so 50 has none.
    """

    REGISTERED = "registered"
    CREATING = "creating"
    REFUSED = "refused"
    STARTING = "starting"
    STUCK = "stuck"
    RUNNING = "running"
    FAILED = "failed"
    KILLED = "killed"
    INTERRUPTED = "interrupted"
    EXECUTED = "executed"
    UNMEASURED = "unmeasured"
    LEARNED = "learned"

    @property
    def is_under_way(self) -> bool:
        """Whether a Job of it may use memory of the cluster."""
        return self in _UNDER_WAY

    @property
    def is_open(self) -> bool:
        """Whether something still follows in this attempt."""
        return self in _UNDER_WAY or self in {RunState.REGISTERED, RunState.EXECUTED}


_UNDER_WAY: Final = frozenset({RunState.CREATING, RunState.STARTING, RunState.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRun:
    """One attempt at one scenario. ``scenario`` and ``attempt`` identify it in its campaign.

    scenario: from 0, in the order of registration. attempt: from 1.
    values: feature -> its text, as it is passed to the program.
    lifts: earlier attempts that were killed for memory; each raised this one's memory.
    created_s, ended_s: Unix seconds; None if its Job was not asked for, or has not ended.
    attempt_uid: of its pod, and of the observation that says how it ended; None until either is
    seen.
    peak_bytes, runtime_s: None if not measured. note: why it ended so, or has no
    room to start, in words.
    weight: how many real runs its scenario stands for; 1 where nobody counted.
    """

    scenario: int
    attempt: int = 1
    state: RunState = RunState.REGISTERED
    values: Mapping[str, str]
    memory_bytes: int
    lifts: int = 0
    created_s: float | None = None
    ended_s: float | None = None
    attempt_uid: str | None = None
    peak_bytes: int | None = None
    runtime_s: float | None = None
    note: str = ""
    weight: int = 1

    @property
    def key(self) -> tuple[int, int]:
        """The scenario and the attempt."""
        return self.scenario, self.attempt


def latest_of(runs: Iterable[CampaignRun]) -> dict[int, CampaignRun]:
    """Each scenario's latest attempt, in the order of scenarios."""
    latest: dict[int, CampaignRun] = {}
    for run in sorted(runs, key=lambda each: each.key):
        latest[run.scenario] = run
    return latest
