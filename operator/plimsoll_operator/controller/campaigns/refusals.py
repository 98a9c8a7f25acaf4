"""Why a campaign may not run now, whatever is written in it."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.campaigns.spec import BadCampaign, Campaign
from plimsoll_operator.controller.campaigns.campaign_jobs import CampaignJobs
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.sizing.bounds.quotas import counts
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import words_for_bytes


@dataclass(frozen=True, slots=True)
class Refusals:
    """Asks whether a campaign may run. It may be asked again at any time: people mend things."""

    jobs: CampaignJobs
    policies: TaskPolicies
    bounds: ClusterBounds

    async def check(self, campaign: Campaign, may_run_in: dict[str, bool]) -> None:
        """Return if the campaign may run. may_run_in: answers of this look; gets new ones.

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

    def _check_namespace(self, campaign: Campaign) -> None:
        namespace = campaign.task.namespace
        if self.policies.leave_alone(namespace):
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
        size, bounds = campaign.memory_bytes, self.bounds.of_namespace(campaign.task.namespace)
        asked = words_for_bytes(size)
        if bounds.most is not None and size > bounds.most:
            raise BadCampaign(
                "LimitRangeTooSmall",
                f"each run asks for {asked}, and a LimitRange allows a container"
                f" {words_for_bytes(bounds.most)}; lower spec.memory",
            )
        for quota in bounds.quotas:
            least = min((each for each in (quota.request, quota.limit) if each), default=None)
            if least is not None and size > least and counts(quota, campaign.template):
                raise BadCampaign(
                    "QuotaTooSmall",
                    f"each run asks for {asked}, and a quota of the namespace allows"
                    f" {words_for_bytes(least)} in all; lower spec.memory or raise the quota",
                )
