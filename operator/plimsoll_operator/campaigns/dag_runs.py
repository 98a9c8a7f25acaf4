"""Which DAG runs are triggered next, and what a run's state means. Pure.

A run's id follows from the DAG, the campaign's name, the configuration and the attempt. So Airflow
itself remembers what was triggered, and a campaign that is started again continues where it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from plimsoll_operator.campaigns.configurations import Configuration

MOST_ATTEMPTS: Final = 99
MOST_REFUSED: Final = 5
"""Configurations that a DAG may refuse before it takes any; then it will refuse the rest too."""
_NAME_CHARS: Final = 30
_DIGEST_CHARS: Final = 16
_NOT_IN_A_RUN_ID: Final = re.compile(r"[^A-Za-z0-9.-]+")

SUCCESS, FAILED = "success", "failed"
"""Airflow's states of an ended run. Runs in all other states (queued, running, ...) go on."""


class RunState(Enum):
    """What is known about a configuration's newest run; in the words of the summary."""

    UNSEEN = "not looked up"
    DUE = "not triggered"
    GOING = "going on"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    DELETED = "deleted"


_OVER: Final = (RunState.SUCCEEDED, RunState.FAILED, RunState.REFUSED, RunState.DELETED)
_TAKEN: Final = (RunState.GOING, RunState.SUCCEEDED, RunState.FAILED, RunState.DELETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowCampaign:
    """What is run. again: trigger a configuration once more if its newest run failed."""

    dag: str
    name: str
    parallelism: int
    again: bool = False

    def run_id(self, run: PlannedRun) -> str:
        """The id of a run: at most 63 characters, so that a pod's label holds it unchanged.

        >>> campaign = AirflowCampaign(dag="nightly", name="first try", parallelism=4)
        >>> campaign.run_id(PlannedRun(Configuration(1, {}, "{}")))
        'plimsoll__first-try__08d478118fa71425'
        """
        whole = json.dumps([self.dag, self.name, run.configuration.text]).encode()
        digest = hashlib.sha256(whole).hexdigest()[:_DIGEST_CHARS]
        attempt = f"__{run.attempt}" if run.attempt > 1 else ""
        return f"{self.run_id_prefix}{digest}{attempt}"

    @property
    def run_id_prefix(self) -> str:
        """The beginning of all ids of its runs; a campaign with a similar name may share it."""
        return f"plimsoll__{_NOT_IN_A_RUN_ID.sub('-', self.name)[:_NAME_CHARS]}__"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A configuration, and its progress. note: why it was refused."""

    configuration: Configuration
    attempt: int = 1
    state: RunState = RunState.UNSEEN
    note: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in _OVER

    def looked_up(self, state: str | None, *, again: bool) -> PlannedRun:
        """The run after its attempt was looked up. state: None if there is no such attempt.

        A failed attempt may have been triggered again, so the next one is looked up.
        """
        if state == FAILED and self.attempt < MOST_ATTEMPTS:
            return replace(self, attempt=self.attempt + 1)
        if state is not None:
            return self.seen(state)
        if self.attempt == 1 or again:
            return replace(self, state=RunState.DUE)
        return replace(self, attempt=self.attempt - 1, state=RunState.FAILED)

    def seen(self, state: str | None) -> PlannedRun:
        """The run after it was looked at. state: None if it no longer exists."""
        ended = {SUCCESS: RunState.SUCCEEDED, FAILED: RunState.FAILED, None: RunState.DELETED}
        return replace(self, state=ended.get(state, RunState.GOING))

    def triggered(self) -> PlannedRun:
        """The run exists now, through us or an earlier command."""
        return replace(self, state=RunState.GOING)

    def refused(self, why: str) -> PlannedRun:
        """Airflow does not accept the configuration."""
        return replace(self, state=RunState.REFUSED, note=why)


def due_now(runs: Sequence[PlannedRun], parallelism: int) -> list[int]:
    """The places of the runs to trigger now, in order; at most ``parallelism`` go on at once."""
    if _is_refused_by_all(runs):
        return []
    going = sum(run.state is RunState.GOING for run in runs)
    due = [place for place, run in enumerate(runs) if run.state is RunState.DUE]
    # One at first: a DAG that refuses every configuration then shows it after a few.
    room = parallelism if any(run.state in _TAKEN for run in runs) else 1
    return due[: max(0, room - going)]


def is_over(runs: Sequence[PlannedRun]) -> bool:
    """Whether nothing goes on and nothing more is triggered."""
    waited_for = (RunState.UNSEEN, RunState.GOING)
    return not due_now(runs, 1) and all(run.state not in waited_for for run in runs)


def _is_refused_by_all(runs: Sequence[PlannedRun]) -> bool:
    refused = sum(run.state is RunState.REFUSED for run in runs)
    return refused >= MOST_REFUSED and not any(run.state in _TAKEN for run in runs)


def counts_of(runs: Sequence[PlannedRun]) -> Mapping[RunState, int]:
    """How many runs are in each state, the successful ones first."""
    counted = Counter(run.state for run in runs)
    order = (*_OVER, RunState.GOING, RunState.DUE, RunState.UNSEEN)
    return {state: counted[state] for state in order if counted[state]}


def words_for(runs: Sequence[PlannedRun]) -> str:
    """The runs' progress, in a few words.

    >>> words_for([PlannedRun(Configuration(1, {}, "{}"), state=RunState.SUCCEEDED)])
    '1 succeeded'
    """
    return ", ".join(f"{count:,} {state.value}" for state, count in counts_of(runs).items())
