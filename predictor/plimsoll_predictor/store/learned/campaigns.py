"""Profiling campaigns: which there were, and how each attempt at their scenarios went.

The rows outlive the campaign's object, so that its report can still be read. Observations of its
runs are the task's own, and stay for as long as the task is known.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.seen import SeenEnd
from plimsoll_predictor.core.bounded_text import bounded
from plimsoll_predictor.core.record import Features, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store.attempts.observation_rows import read_cause
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import campaign_runs, campaigns, observations
from plimsoll_predictor.store.database.upsert import insert_new, upsert

KEPT_S: Final = 400 * DAY_S
"""How long an ended campaign is kept for its report."""
_MOST_NOTE_BYTES: Final = 512
_AT_ONCE: Final = 500
"""Runs that are asked for at once: a query has a bound on its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRecord:
    """A campaign. uid: of its object. ended_s, ending: None while it has not ended.

    reference_bytes: today's request of its task. duplicates: scenarios left out because others are
    the same. Times are Unix seconds.
    """

    uid: str
    namespace: str
    name: str
    task: str
    reference_bytes: int
    duplicates: int = 0
    began_s: float
    ended_s: float | None = None
    ending: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignTally:
    """A campaign and how far it is. scenarios, done: how many, and how many have a known need.

    killed: attempts.
    """

    record: CampaignRecord
    scenarios: int = 0
    done: int = 0
    killed: int = 0


class CampaignRecords(Records):
    """The part of the store for campaigns; errors as in ``Store``."""

    def begin(self, campaign: CampaignRecord, runs: Sequence[CampaignRun]) -> bool:
        """Register a campaign with its scenarios; False if it is registered already."""
        with self._database.write() as connection:
            new = insert_new(connection, campaigns, "uid", [asdict(campaign)])
            if new:
                upsert(connection, campaign_runs, _rows(campaign.uid, runs))
            return bool(new)

    def put(self, uid: str, runs: Iterable[CampaignRun]) -> None:
        """Keep attempts as they are now."""
        with self._database.write() as connection:
            upsert(connection, campaign_runs, _rows(uid, runs))

    def end(self, uid: str, ending: str) -> bool:
        """Note why a campaign ended; False if it had ended before."""
        going = (campaigns.c.uid == uid) & campaigns.c.ended_s.is_(None)
        values = {"ending": bounded(ending, _MOST_NOTE_BYTES), "ended_s": self._clock()}
        with self._database.write() as connection:
            return bool(connection.execute(campaigns.update().where(going).values(values)).rowcount)

    def of_uid(self, uid: str) -> CampaignRecord | None:
        """The campaign of an object; None if it was never registered."""
        found = self._of(campaigns.c.uid == uid)
        return found[0] if found else None

    def named(self, namespace: str, name: str) -> CampaignRecord | None:
        """The newest campaign of a name; None if there was none."""
        found = self._of((campaigns.c.namespace == namespace) & (campaigns.c.name == name))
        return found[0] if found else None

    def going(self) -> list[CampaignRecord]:
        """All that have not ended."""
        return self._of(campaigns.c.ended_s.is_(None))

    def newest(self, limit: int, task: TaskId | None = None) -> list[CampaignTally]:
        """The campaigns that began last, of a task or of all, the newest first."""
        asked = sa.select(campaigns).order_by(campaigns.c.began_s.desc(), campaigns.c.uid)
        if task is not None:
            asked = asked.where(campaigns.c.task == str(task))
        rows = self._database.rows(asked.limit(limit))
        records = [CampaignRecord(**row._mapping) for row in rows]
        counts = self._counts([record.uid for record in records])
        return [CampaignTally(record=each, **counts.get(each.uid, {})) for each in records]

    def runs(self, uid: str) -> list[CampaignRun]:
        """All attempts at a campaign's scenarios, in their order."""
        column = campaign_runs.c
        of_it = sa.select(campaign_runs).where(column.campaign == uid)
        rows = self._database.rows(of_it.order_by(column.scenario, column.attempt))
        return [_run(row._mapping) for row in rows]

    def recorded(self, task: TaskId, since_s: float, *, without: str, limit: int) -> list[Features]:
        """The features of a task's runs since then, the newest first, each run once.

        without: the prefix of the keys of runs that do not count. limit: attempts to look at.
        """
        column = observations.c
        asked = (
            sa.select(column.run, column.features)
            .where((column.task == str(task)) & (column.ordered_s >= since_s))
            .where(~column.run.startswith(without, autoescape=True))
            .order_by(column.ordered_s.desc(), column.id.desc())
            .limit(limit)
        )
        by_run = {row.run: row.features for row in self._database.rows(asked)}
        return [json.loads(features) for features in by_run.values()]

    def ends(self, task: TaskId, run_keys: Mapping[str, int]) -> dict[int, list[SeenEnd]]:
        """What was observed of scenarios, the oldest first.

        run_keys: a run's key in observations -> the scenario.
        """
        column, found = observations.c, defaultdict[int, list[SeenEnd]](list)
        keys = sorted(run_keys)
        for start in range(0, len(keys), _AT_ONCE):
            some = column.run.in_(keys[start : start + _AT_ONCE])
            asked = (
                sa.select(
                    *(column.run, column.attempt_uid, column.outcome, column.peak_bytes),
                    *(column.started_s, column.finished_s, column.cause, column.exit_code),
                )
                .where((column.task == str(task)) & some)
                .order_by(column.ordered_s, column.id)
            )
            for row in self._database.rows(asked):
                found[run_keys[row.run]].append(_end(row))
        return dict(found)

    def _counts(self, uids: Sequence[str]) -> dict[str, dict[str, int]]:
        column = campaign_runs.c
        asked = (
            sa.select(
                column.campaign,
                sa.func.count(sa.distinct(column.scenario)).label("scenarios"),
                *(
                    sa.func.count(sa.case((column.state == state.value, 1))).label(name)
                    for name, state in (("done", RunState.LEARNED), ("killed", RunState.KILLED))
                ),
            )
            .where(column.campaign.in_(uids))
            .group_by(column.campaign)
        )
        rows = self._database.rows(asked) if uids else []
        return {
            row.campaign: {"scenarios": row.scenarios, "done": row.done, "killed": row.killed}
            for row in rows
        }

    def _of(self, condition: sa.ColumnElement[bool]) -> list[CampaignRecord]:
        newest = sa.select(campaigns).where(condition).order_by(campaigns.c.began_s.desc())
        return [CampaignRecord(**row._mapping) for row in self._database.rows(newest)]


def _rows(uid: str, runs: Iterable[CampaignRun]) -> list[dict[str, Any]]:
    return [
        {
            "campaign": uid,
            "scenario": run.scenario,
            "attempt": run.attempt,
            "state": run.state.value,
            "features": json.dumps(dict(run.values), sort_keys=True),
            "memory_bytes": run.memory_bytes,
            "lifts": run.lifts,
            "created_s": run.created_s,
            "ended_s": run.ended_s,
            "attempt_uid": run.attempt_uid,
            "peak_bytes": run.peak_bytes,
            "runtime_s": run.runtime_s,
            "note": bounded(run.note, _MOST_NOTE_BYTES),
            "weight": run.weight,
        }
        for run in runs
    ]


def _run(row: Any) -> CampaignRun:
    elsewhere = {"campaign", "state", "features", "weight"}
    own = {key: row[key] for key in row if key not in elsewhere}
    return CampaignRun(
        state=RunState(row["state"]),
        values=json.loads(row["features"]),
        weight=row["weight"] or 1,
        **own,
    )


def _end(row: Any) -> SeenEnd:
    times = row.started_s, row.finished_s
    runtime_s = None if None in times or times[1] < times[0] else times[1] - times[0]
    return SeenEnd(
        attempt_uid=row.attempt_uid,
        outcome=Outcome(row.outcome),
        peak_bytes=row.peak_bytes,
        runtime_s=runtime_s,
        finished_s=row.finished_s,
        cause=read_cause(row.cause),
        exit_code=row.exit_code,
    )
