"""Says why a campaign may not run now, whatever is written in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from plimsoll_operator.campaigns.spec import BadCampaign, Campaign
from plimsoll_operator.controller.campaigns.campaign_jobs import CampaignJobs
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.sizing.bounds.quotas import counts
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.seen import SeenJob
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import words_for_bytes

Key: TypeAlias = tuple[int, int]
"""A run's scenario and attempt."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A bound that allows a run too little. reason: one word. allows: what it allows, in words."""

    reason: str
    allows: str
    name: str


@dataclass(frozen=True, slots=True)
class Refusals:
    """Checks whether a campaign may run. Check again at any time: people mend things."""

    jobs: CampaignJobs
    policies: TaskPolicies
    bounds: ClusterBounds

    async def check(self, campaign: Campaign, may_run_in: dict[str, bool]) -> None:
        """Return if the campaign may run. may_run_in: answers of this look; new ones are added.

        Raises:
            BadCampaign: if it may not; says why, and what to do.
        """
        self._check_namespace(campaign)
        self._check_size(campaign)
        namespace = campaign.task.namespace
        if namespace not in may_run_in:
            may_run_in[namespace] = await self.jobs.may_run_in(namespace)
        if not may_run_in[namespace]:
            raise BadCampaign(
                "NotAllowed",
                f"Plimsoll may create no Job in namespace {namespace}; an admin turns campaigns on"
                " with the chart's value campaigns.enabled",
            )

    def leaves_alone(self, campaign: Campaign) -> bool:
        """Say whether people have excluded its namespace from all that Plimsoll does."""
        return self.policies.leave_alone(campaign.task.namespace)

    def _check_namespace(self, campaign: Campaign) -> None:
        namespace = campaign.task.namespace
        if self.leaves_alone(campaign):
            raise BadCampaign(
                "NamespaceExcluded",
                f"namespace {namespace} is excluded from all that Plimsoll does; run the campaign"
                " in another one",
            )
        if self.policies.of_task(campaign.task).policy.mode is Mode.OFF:
            raise BadCampaign(
                "ModeOff",
                f"the mode of {campaign.task} is off, so that nothing would be learned; write"
                " recommend into its SizingPolicy or TaskProfile",
            )

    def _check_size(self, campaign: Campaign) -> None:
        bound = self._exceeded(campaign, campaign.memory_bytes)
        if bound is not None:
            raise BadCampaign(
                bound.reason,
                f"each run asks for {words_for_bytes(campaign.memory_bytes)}, and {bound.allows};"
                f" lower spec.memory or raise {bound.name}",
            )

    def explained(
        self, campaign: Campaign, runs: Iterable[CampaignRun], jobs: Mapping[Key, SeenJob]
    ) -> dict[Key, SeenJob]:
        """Return the Jobs; a Job that will never have room says which bound is too small.

        ``check`` knew only the campaign's memory, and a lift may ask for more.
        """
        sizes = {run.key: run.memory_bytes for run in runs}
        return {
            key: self._explained(campaign, sizes[key], job) if key in sizes else job
            for key, job in jobs.items()
        }

    def _explained(self, campaign: Campaign, size: int, job: SeenJob) -> SeenJob:
        bound = self._exceeded(campaign, size) if job.lacks_room else None
        if bound is None:
            return job
        words = f"it asks for {words_for_bytes(size)}, and {bound.allows}; raise {bound.name}"
        return replace(job, stuck_why=words)

    def _exceeded(self, campaign: Campaign, size: int) -> _Bound | None:
        """Return the bound that never allows a pod so many bytes; None if all bounds allow it."""
        bounds = self.bounds.of_namespace(campaign.task.namespace)
        if bounds.most is not None and size > bounds.most:
            allows = f"a LimitRange allows a container {words_for_bytes(bounds.most)}"
            return _Bound("LimitRangeTooSmall", allows, "the LimitRange")
        for quota in bounds.quotas:
            least = min((each for each in (quota.request, quota.limit) if each), default=None)
            if least is not None and size > least and counts(quota, campaign.template):
                allows = f"a quota of the namespace allows {words_for_bytes(least)} in all"
                return _Bound("QuotaTooSmall", allows, "the quota")
        return None
