"""``plimsoll campaign create`` and ``stop``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import yaml

from plimsoll_operator.campaigns.job_manifest import API_VERSION, CAMPAIGNS, KIND
from plimsoll_operator.campaigns.spec import BadCampaign, Campaign, read_campaign, scenarios_of
from plimsoll_operator.commands.campaigns.watch import watch_command
from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names.objects import metadata_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted


def create_command(
    file: Path, namespace: str | None, installation: Installation, *, watch: bool
) -> int:
    """Create the campaign of a file; the exit status. watch: show its progress until it is over."""
    try:
        manifest = _manifest(file, namespace)
        print(asyncio.run(_create(manifest, installation)))
    except (ApiError, BadCampaign, OSError, ValueError) as error:
        complain(f"plimsoll campaign create: {error}")
        return 1
    meta = manifest["metadata"]
    return watch_command(f"{meta['namespace']}/{meta['name']}", installation) if watch else 0


def stop_command(named: str, installation: Installation) -> int:
    """Stop a campaign; the exit status. Doing it twice is no error."""
    try:
        campaign = TaskId.parse(named)
        asyncio.run(_stop(campaign, installation))
    except (ApiError, ValueError) as error:
        complain(f"plimsoll campaign stop: {error}")
        return 1
    print(
        f"stopped: {campaign}; its Jobs are deleted within seconds, or its status says why not;"
        " what was learned stays"
    )
    return 0


def _manifest(file: Path, namespace: str | None) -> dict[str, Any]:
    """Read and check a campaign.

    Raises:
        ValueError: if it is no campaign, or one that could not run.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        manifest = yaml.safe_load(text)
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8; docs/campaigns.md has a campaign") from error
    except yaml.YAMLError as error:
        words = str(error).replace('in "<unicode string>", ', "in ")
        raise ValueError(f"{file} is no YAML: {words}") from error
    except RecursionError as error:
        raise ValueError(
            f"{file} nests too deeply for a campaign; docs/campaigns.md has one"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise ValueError(f"{file} is no {KIND}; docs/campaigns.md has one")
    meta = dict(metadata_of(manifest))
    meta["namespace"] = meta.get("namespace") or namespace
    if not all(each and isinstance(each, str) for each in (meta["namespace"], meta.get("name"))):
        raise ValueError(f"{file}: name it in metadata.name, and its namespace with --namespace")
    manifest = {**manifest, "apiVersion": API_VERSION, "metadata": meta}
    campaign = read_campaign(manifest)
    if _is_whole(campaign):
        scenarios_of(campaign)
    return manifest


def _is_whole(campaign: Campaign) -> bool:
    """Say whether its scenarios are in it, and not in a ConfigMap or in past runs."""
    return campaign.config_map is None and campaign.recording is None


async def _create(manifest: dict[str, Any], installation: Installation) -> str:
    meta = manifest["metadata"]
    async with cluster_objects(installation) as objects:
        await objects.create(custom_path(CAMPAIGNS, meta["namespace"]), manifest)
    named, campaign = f"{meta['namespace']}/{meta['name']}", read_campaign(manifest)
    if not _is_whole(campaign):
        return f"created: {named}"
    found = scenarios_of(campaign)
    left_out = f", {found.duplicates} left out as others are the same" if found.duplicates else ""
    return f"created: {named}, {counted(len(found.rows), 'scenario')}{left_out}"


async def _stop(campaign: TaskId, installation: Installation) -> None:
    path = custom_path(CAMPAIGNS, campaign.namespace, campaign.name)
    async with cluster_objects(installation) as objects:
        await objects.patch(path, {"spec": {"stopped": True}})
