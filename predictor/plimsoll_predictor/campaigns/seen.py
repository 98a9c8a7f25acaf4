"""What the API server and the store show of a campaign's runs, when it is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.campaigns.ending import since
from plimsoll_predictor.core.record import Cause, Outcome

OBSERVED_WITHIN_S: Final = 150.0
"""A peak that has not come by then never will: an agent sends its last readings at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    """What the API server shows of one run's Job.

    pod_uid: of its pod; None if none is there, or it has ended.
    started: a container of it has started. stuck_why: why none has, in words.
    goes_on: a container of it has not ended.
    too_long: the Job itself had a deadline, and it is over. Campaigns write one on the pod, but an
    older Plimsoll wrote it on the Job, and so may a policy of the cluster.
    lacks_room: only a lack of room holds it back: a quota refuses its pod, or no node takes it.
    finished_s: Unix seconds; None while it is active.
    """

    pod_uid: str | None = None
    started: bool = False
    goes_on: bool = False
    succeeded: bool = False
    failed: bool = False
    finished_s: float | None = None
    stuck_why: str = ""
    too_long: bool = False
    lacks_room: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEnd:
    """An observation of one attempt at a scenario. finished_s: Unix seconds.

    cause: why it did not succeed; None if it did, or if nobody knows. exit_code: None if none is
    known, as of a pod that never had a container.
    """

    attempt_uid: str
    outcome: Outcome
    peak_bytes: int | None
    runtime_s: float | None
    finished_s: float | None
    cause: Cause | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the cluster and the store show. jobs: by scenario and attempt. ends: by scenario.

    silent_s: how long no agent was heard; a run in that time is not measured.
    looked_s: how long the cluster has been watched without a break. A run that ended before is
    observed only once somebody watches again; agents that kept its peak send it then.
    """

    jobs: Mapping[tuple[int, int], SeenJob] = field(default_factory=dict)
    ends: Mapping[int, Sequence[SeenEnd]] = field(default_factory=dict)
    silent_s: float = 0.0
    looked_s: float = math.inf

    def waits(self, ended_s: float | None, now_s: float) -> bool:
        """Say whether the facts about an end may still come."""
        return min(since(ended_s, now_s), self.looked_s) < OBSERVED_WITHIN_S
