"""Brings every ProfilingCampaign a step further, again and again.

A look reads everything anew: the campaigns and their Jobs from the API server, their runs and
observations from the store. Nothing is kept in memory, so a controller may be killed at any moment,
and the next one finds everything. ``campaigns/planning.py`` decides; its decisions are stored
before they are carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import structlog

from plimsoll_operator.campaigns.job_manifest import RUN_PREFIX, command_to_delete, run_key
from plimsoll_operator.campaigns.spec import (
    BadCampaign,
    Campaign,
    read_begun,
    read_campaign,
    scenarios_of,
)
from plimsoll_operator.campaigns.status import DELETED, Phase, State, status_of
from plimsoll_operator.controller.campaigns.refusals import Key, Refusals
from plimsoll_operator.controller.hub.hub import AttemptEnded, Hub, ObservationAmended, TrainingDue
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.kube.errors import ApiError, NotFound, Refused, Unknown
from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import labels_of, metadata_of
from plimsoll_operator.profile.status import changed
from plimsoll_predictor.campaigns.ending import Ending
from plimsoll_predictor.campaigns.needs import least_certain
from plimsoll_predictor.campaigns.planning import Steps, next_steps, refused
from plimsoll_predictor.campaigns.recorded import MOST_RUNS, rows_with_weights
from plimsoll_predictor.campaigns.rules import Rules
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState, latest_of
from plimsoll_predictor.campaigns.seen import Seen, SeenJob
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store import CampaignRecord, Store, StoreError, Writer

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0
LOOK_SELDOM_S: Final = 15.0
"""The pause if every campaign is over, or the kind is missing or may not be listed."""
DENIED_S: Final = 60.0
"""A right that is missing for so long is gone: an upgrade of the chart may make roles anew."""
SETTLE_S: Final = 1.0
"""Ends that come within it are looked at together."""
_MOST_RESUMED: Final = 50
"""The newest campaigns; a start checks whether their tasks were trained after they ended."""
_HAVE_JOBS: Final = frozenset({RunState.STARTING, RunState.RUNNING})
_OVER: Final = frozenset({Phase.FINISHED.value, Phase.STOPPED.value})


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known within one look.

    running: task -> the campaign that runs it now. may_run_in: namespace -> whether Jobs may be
    made there.
    """

    running: dict[str, str] = field(default_factory=dict)
    may_run_in: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Campaigns:
    """Looks at all campaigns, one after another."""

    store: Store
    writer: Writer
    hub: Hub
    book: TaskBook
    refusals: Refusals
    agents: AgentsHeard
    now_s: Callable[[], float]
    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _refused: bool = field(init=False, default=False)
    _looks_since_s: float | None = field(init=False, default=None)
    """Since when every look saw the cluster, by the agents' clock; None if the last did not."""
    _denied_since_s: dict[str, float] = field(init=False, default_factory=dict)
    """UID of a stopped campaign -> since when its Jobs may not be deleted."""

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Look soon, if it was a run of a campaign."""
        if labels.CAMPAIGN in labels_of(event.pod):
            self._news.set()

    def observation_amended(self, event: ObservationAmended) -> None:
        """Look soon, if it was a run of a campaign: the campaign may wait for its peak."""
        if event.observation.run.startswith(RUN_PREFIX):
            self._news.set()

    async def run(self) -> None:
        """Look until cancelled."""
        await self.resume()
        while True:
            pause_s = LOOK_EVERY_S if await self.look() else LOOK_SELDOM_S
            try:
                await asyncio.wait_for(self._news.wait(), pause_s)
            except TimeoutError:
                continue
            self._news.clear()
            await asyncio.sleep(SETTLE_S)

    async def resume(self) -> None:
        """Ask again for the trainings that campaigns asked for at their ends and did not get.

        The request may have been in the memory of a controller that was killed.
        """
        for tally in await self.writer.read(self.store.campaigns.newest, _MOST_RESUMED):
            ended_s = tally.record.ended_s
            if not tally.done or ended_s is None or self.now_s() - ended_s > DAY_S:
                continue
            task = TaskId.parse(tally.record.task)
            last = await self.writer.read(self.store.trainings.last, task)
            if last is None or last.failure is not None or last.at_s < ended_s:
                self._train(task)

    async def look(self) -> bool:
        """Bring each campaign a step further. Return whether to look again soon."""
        try:
            documents = await self.refusals.jobs.campaigns()
        except NotFound:
            return False
        except ApiError as error:
            if not self._refused:
                log.warning("no campaign is seen", error=str(error))
            self._refused, self._looks_since_s = True, None
            return not isinstance(error, Refused)
        self._refused = False
        if self._looks_since_s is None:
            self._looks_since_s = self.agents.now_s()
        await self._end_deleted(documents)
        look = _Look()
        for document in sorted(documents, key=_age):
            try:
                await self._step(document, look)
            except (ApiError, StoreError) as error:
                name = metadata_of(document).get("name")
                log.warning("campaign postponed", campaign=name, error=str(error))
            except Exception:
                # People write most of a campaign; an unforeseen error in one delays no other.
                log.exception("campaign postponed", campaign=metadata_of(document).get("name"))
        return not all(map(_is_over, documents))

    async def _end_deleted(self, documents: Sequence[Mapping[str, Any]]) -> None:
        there = {metadata_of(document).get("uid") for document in documents}
        for record in await self.writer.read(self.store.campaigns.going):
            if record.uid not in there:
                await self.writer.call(self.store.campaigns.end, record.uid, DELETED)

    async def _step(self, document: Mapping[str, Any], look: _Look) -> None:
        """Bring one campaign a step further."""
        if metadata_of(document).get("deletionTimestamp") or _is_over(document):
            return
        state = State(generation=metadata_of(document).get("generation"))
        try:
            campaign = read_campaign(document)
            other = look.running.setdefault(str(campaign.task), campaign.name)
            if other != campaign.name and not campaign.stopped:
                await self._keep_back(document, campaign, replace(state, waits_for=other), look)
                return
            if not campaign.stopped:
                # A stopped campaign begins nothing: its Jobs go, whatever else is wrong.
                await self.refusals.check(campaign, look.may_run_in)
            record = await self._registered(campaign)
        except BadCampaign as error:
            refused_state = replace(state, refusal=(error.reason, str(error)))
            await self._keep_back(document, read_begun(document), refused_state, look)
            return
        now, _ = await self._advance(campaign, record, state)
        await self._show(document, now)

    async def _keep_back(
        self, document: Mapping[str, Any], campaign: Campaign, state: State, look: _Look
    ) -> None:
        """Begin no run of a campaign that is refused or waits, and say why."""
        task = str(campaign.task)
        look.running.setdefault(task, campaign.name)
        now, goes_on = await self._follow(campaign, state)
        if not goes_on and look.running[task] == campaign.name:
            # A campaign that cannot run delays another only as long as its runs go on.
            look.running.pop(task)
        # Last: the API server may refuse the status of a campaign that does not fit its schema.
        await self._show(document, now)

    async def _follow(self, campaign: Campaign, state: State) -> tuple[State, bool]:
        """Follow what a campaign began, if anything.

        Return its state by then, and whether a Job of it may go on.
        """
        record = await self.writer.read(self.store.campaigns.of_uid, campaign.uid)
        if record is None:
            ending = Ending.STOPPED if campaign.stopped else None
            return replace(state, ending=ending, ended=campaign.stopped), False
        excluded = self.refusals.leaves_alone(campaign)
        if campaign.stopped or not excluded:
            try:
                return await self._advance(campaign, record, state)
            except Unknown:
                raise
            except Refused:
                # Its Jobs may not be seen: the right may be what it is refused for.
                pass
        runs = await self.writer.read(self.store.campaigns.runs, campaign.uid)
        going = sum(run.state.is_under_way for run in runs)
        known = replace(state, runs=runs, reference_bytes=record.reference_bytes, going=going)
        return known, going > 0 and not excluded

    async def _registered(self, campaign: Campaign) -> CampaignRecord:
        """Return the campaign's record. The first time, its scenarios are read and registered."""
        uid = campaign.uid
        record = await self.writer.read(self.store.campaigns.of_uid, uid)
        if record is not None:
            return record
        csv_text = await self.refusals.jobs.scenarios_file(campaign)
        recorded = await self._recorded(campaign)
        scenarios = await asyncio.to_thread(scenarios_of, campaign, csv_text, recorded)
        record = CampaignRecord(
            uid=uid,
            namespace=campaign.task.namespace,
            name=campaign.name,
            task=str(campaign.task),
            reference_bytes=campaign.reference_bytes,
            duplicates=scenarios.duplicates,
            began_s=self.now_s(),
        )
        runs = [
            CampaignRun(
                scenario=number, values=values, memory_bytes=campaign.memory_bytes, weight=weight
            )
            for number, (values, weight) in enumerate(rows_with_weights(scenarios))
        ]
        await self.writer.call(self.store.campaigns.begin, record, runs)
        log.info("campaign begins", campaign=campaign.name, scenarios=len(runs))
        return record

    async def _recorded(self, campaign: Campaign) -> Sequence[Features]:
        """Return the features of the task's real runs, if they are the campaign's scenarios."""
        if campaign.recording is None:
            return ()
        since_s = self.now_s() - campaign.recording.days * DAY_S

        def read() -> Sequence[Features]:
            return self.store.campaigns.recorded(
                campaign.task, since_s, without=RUN_PREFIX, limit=MOST_RUNS
            )

        return await self.writer.read(read)

    async def _advance(
        self, campaign: Campaign, record: CampaignRecord, state: State
    ) -> tuple[State, bool]:
        """Bring a campaign that began a step further.

        Return its state by then, and whether a Job of it goes on.
        state: what keeps it back, if anything does; its runs are added.
        """
        runs = await self.writer.read(self.store.campaigns.runs, campaign.uid)
        jobs = await self._jobs(campaign, runs)
        rules = campaign.rules(record.began_s)
        if state.is_kept_back:
            rules = rules.while_kept_back()
        steps = await self._planned(campaign, rules, runs, jobs or {})
        if steps.changed:
            await self.writer.call(self.store.campaigns.put, campaign.uid, steps.changed)
        gone = await self.refusals.jobs.delete(campaign, steps.delete)
        begins = replace(steps, create=()) if state.is_kept_back else steps
        known, not_made = await self._create(campaign, begins)
        # It ends only once its Jobs are gone: nobody looks at them afterwards.
        ended = steps.ended and gone
        if ended and steps.ending is not None:
            await self._end(campaign, steps.ending, known)
        now = replace(
            state,
            runs=known,
            reference_bytes=record.reference_bytes,
            duplicates=record.duplicates,
            ending=steps.ending,
            ended=ended,
            silent_s=self.agents.silent_s,
            not_made=not_made,
            left_to=command_to_delete(campaign) if jobs is None else "",
            going=sum(run.state in _HAVE_JOBS for run in known),
        )
        return now, now.going > 0 or not gone

    async def _jobs(
        self, campaign: Campaign, runs: Sequence[CampaignRun]
    ) -> dict[Key, SeenJob] | None:
        """Return the campaign's Jobs; None if it is stopped and Plimsoll may not delete them.

        Campaigns were switched off while it ran, so that its Jobs may not be listed either.

        Raises:
            Refused: if they may not be deleted at present; that is not believed at once.

        """
        jobs = self.refusals.jobs
        if campaign.stopped and not await jobs.may_delete_in(campaign.task.namespace):
            since_s = self._denied_since_s.setdefault(campaign.uid, self.agents.now_s())
            if self.agents.now_s() - since_s < DENIED_S:
                raise Refused(f"Jobs may not be deleted in {campaign.task.namespace}")
            return None
        self._denied_since_s.pop(campaign.uid, None)
        return self.refusals.explained(campaign, runs, await jobs.seen(campaign))

    async def _planned(
        self,
        campaign: Campaign,
        rules: Rules,
        runs: Sequence[CampaignRun],
        jobs: Mapping[Key, SeenJob],
    ) -> Steps:
        """Return the next steps, by what is stored and seen.

        jobs: read before this, so that a seen end may have its observation by then.
        """
        going = [
            run.scenario
            for run in latest_of(runs).values()
            if run.state.is_open and run.state is not RunState.REGISTERED
        ]
        keys = {run_key(campaign.uid, scenario): scenario for scenario in going}
        ends = await self.writer.read(self.store.campaigns.ends, campaign.task, keys)
        since_s = self.agents.now_s() if self._looks_since_s is None else self._looks_since_s
        seen = Seen(
            jobs=jobs,
            ends=ends,
            silent_s=self.agents.silent_s,
            looked_s=self.agents.now_s() - since_s,
        )
        now_s = self.now_s()
        # A choice among thousands of scenarios takes a while.
        return await asyncio.to_thread(next_steps, rules, runs, seen, now_s, least_certain)

    async def _create(self, campaign: Campaign, steps: Steps) -> tuple[Sequence[CampaignRun], str]:
        """Make the Jobs of runs that begin.

        Return all runs as they are then, and why a Job is not made yet; "" if all are made.
        """
        known, not_made = {run.key: run for run in steps.runs}, ""
        for run in steps.create:
            try:
                why = await self.refusals.jobs.create(campaign, run)
            except ApiError as error:
                # It stays CREATING, and is tried again with the next look.
                not_made = str(error)
                log.warning("campaign's Job not made", campaign=campaign.name, error=str(error))
                continue
            if why is not None:
                known[run.key] = refused(run, why, self.now_s())
                changed_runs = [known[run.key]]
                await self.writer.call(self.store.campaigns.put, campaign.uid, changed_runs)
        return tuple(known.values()), not_made

    async def _end(self, campaign: Campaign, ending: Ending, runs: Sequence[CampaignRun]) -> None:
        """Have the task trained with all that was learned, and note the end.

        The training is asked for first: a second request for it changes nothing.
        """
        if any(run.state is RunState.LEARNED for run in runs):
            self._train(campaign.task)
        if await self.writer.call(self.store.campaigns.end, campaign.uid, ending.value):
            log.info("campaign ended", campaign=campaign.name, why=ending.value)

    def _train(self, task: TaskId) -> None:
        policy = self.book.get(task).policy
        self.hub.publish(TrainingDue(task, policy, "its campaign ended"))

    async def _show(self, document: Mapping[str, Any], state: State) -> None:
        """Write the status, if it changed."""
        previous = document.get("status") or {}
        status = await asyncio.to_thread(status_of, state, previous, self.now_s())
        if changed(previous, status):
            await self.refusals.jobs.write_status(document, status)


def _is_over(document: Mapping[str, Any]) -> bool:
    return (document.get("status") or {}).get("phase") in _OVER


def _age(document: Mapping[str, Any]) -> list[str]:
    """The oldest first; campaigns of the same second by name."""
    meta = metadata_of(document)
    return [str(meta.get(key)) for key in ("creationTimestamp", "namespace", "name")]
