"""Makes, reads and deletes the Jobs of campaigns at the API server, and writes their statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from plimsoll_operator.campaigns.job_facts import seen_jobs
from plimsoll_operator.campaigns.job_manifest import CAMPAIGNS, job_manifest, job_name
from plimsoll_operator.campaigns.spec import BadCampaign, Campaign
from plimsoll_operator.kube.api_server import BATCH, CORE, custom_path, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, NotFound, Refused, Unknown
from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import mapping
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.status import NOT_FINAL
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.seen import SeenJob

log = structlog.get_logger()

EXCEEDED_QUOTA: Final = "exceeded quota"
"""The API server's words for an object for which a quota has no room now."""


class CampaignJobs:
    """Calls for campaigns; errors are ``ApiError``, unless a method says otherwise."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def campaigns(self) -> list[dict[str, Any]]:
        """Return all ProfilingCampaigns of the cluster."""
        return await self._kube.api.items(custom_path(CAMPAIGNS))

    async def may_run_in(self, namespace: str) -> bool:
        """Say whether Plimsoll's role may create Jobs there."""
        return await self._kube.may("create", "batch", "jobs", namespace)

    async def may_delete_in(self, namespace: str) -> bool:
        """Say whether Plimsoll's role may delete Jobs there."""
        return await self._kube.may("delete", "batch", "jobs", namespace)

    async def scenarios_file(self, campaign: Campaign) -> str | None:
        """Return the CSV of the campaign's ConfigMap; None if its scenarios are elsewhere.

        Raises:
            BadCampaign: if there is no such ConfigMap or key, or it may not be read.
        """
        if campaign.config_map is None:
            return None
        name, key = campaign.config_map
        path = path_of(CORE, "configmaps", campaign.task.namespace, name)
        try:
            document = await self._kube.api.get(path)
        except Unknown:
            raise
        except (NotFound, Refused) as error:
            raise BadCampaign("InvalidScenarios", f"ConfigMap {name}: {error}") from error
        text = mapping(document.get("data")).get(key)
        if not isinstance(text, str):
            raise BadCampaign("InvalidScenarios", f"ConfigMap {name} has no data under {key!r}")
        return text

    async def seen(self, campaign: Campaign) -> dict[tuple[int, int], SeenJob]:
        """Return the campaign's Jobs by scenario and attempt, and why a Job's pod did not start."""
        selector = {"labelSelector": f"{labels.CAMPAIGN}={campaign.name}"}
        namespace = campaign.task.namespace
        jobs = await self._kube.api.items(path_of(BATCH, "jobs", namespace), selector)
        going = {**selector, "fieldSelector": NOT_FINAL}
        pods = await self._kube.api.items(path_of(CORE, "pods", namespace), going) if jobs else []
        return seen_jobs(campaign.uid, jobs, pods)

    async def create(self, campaign: Campaign, run: CampaignRun) -> str | None:
        """Make a run's Job, or find it made. Return None, or why it will never be made.

        Raise ``ApiError`` if the next try may succeed.
        """
        manifest = job_manifest(campaign, run)
        try:
            await self._kube.api.create(path_of(BATCH, "jobs", campaign.task.namespace), manifest)
        except AlreadyThere:
            return await self._whose(campaign, run)
        except Unknown:
            # The credentials were replaced; the campaign is not at fault.
            raise
        except Refused as error:
            if EXCEEDED_QUOTA in str(error):
                raise
            return f"the API server refuses its Job: {error}"
        return None

    async def delete(self, campaign: Campaign, runs: Sequence[CampaignRun]) -> bool:
        """Delete the Jobs of runs that are given up, with their pods; one that is gone is fine.

        Return whether no Job is left that the next try may delete.
        """
        gone = True
        for run in runs:
            try:
                await self._kube.api.delete(self._path(campaign, run), propagation="Background")
            except NotFound:
                continue
            except ApiError as error:
                for_good = isinstance(error, Refused) and not isinstance(error, Unknown)
                gone = gone and for_good
                log.warning("campaign's Job not deleted", campaign=campaign.name, error=str(error))
        return gone

    async def write_status(self, document: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Write a campaign's status; a campaign that is gone needs none."""
        meta = document["metadata"]
        try:
            await self._kube.patch_status(CAMPAIGNS, meta["namespace"], meta["name"], status)
        except NotFound:
            return

    async def _whose(self, campaign: Campaign, run: CampaignRun) -> str | None:
        there = await self._kube.api.get(self._path(campaign, run))
        if mapping(controller_of(there)).get("uid") == campaign.uid:
            return None
        return f"another Job has the name {job_name(campaign.name, campaign.uid, run)}"

    def _path(self, campaign: Campaign, run: CampaignRun) -> str:
        name = job_name(campaign.name, campaign.uid, run)
        return path_of(BATCH, "jobs", campaign.task.namespace, name)
