"""Makes the Job of one run of a campaign."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from plimsoll_operator.campaigns.spec import Campaign
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded

KIND: Final = "ProfilingCampaign"
CAMPAIGNS: Final = "profilingcampaigns"
"""The kind in paths of the API server."""
API_VERSION: Final = "plimsoll.dev/v1alpha1"
KEPT_S: Final = 86_400
"""A Job that ended is kept this long, so that a controller that was away learns how it ended. Once
its end is known it is deleted earlier, because each look lists all Jobs."""
RUN_PREFIX: Final = "run:campaign-"
"""Begins the key of every campaign's run; no other key begins so except on purpose."""
_LONGEST_PREFIX: Final = 40
_HASH_DIGITS: Final = 8
_OVERRIDDEN: Final = (labels.MODE, labels.CPU_MODE, labels.RETRY, labels.RUN, labels.ITEM)
"""A template may set these, but a campaign's run sets them otherwise."""


def job_name(campaign: str, uid: str, run: CampaignRun) -> str:
    """Return the Job's name. It depends only on these, so a second creation finds the first.

    >>> from plimsoll_predictor.campaigns.runs import CampaignRun
    >>> job_name("train", "u-1", CampaignRun(scenario=7, values={}, memory_bytes=1))
    'train-a24a7f55-7-1'
    """
    digest = hashlib.sha256(uid.encode()).hexdigest()[:_HASH_DIGITS]
    prefix = campaign[:_LONGEST_PREFIX].rstrip("-.").replace(".", "-")
    return f"{prefix}-{digest}-{run.scenario}-{run.attempt}"


def command_to_delete(campaign: Campaign) -> str:
    """Return the command with which people delete the campaign's Jobs, if Plimsoll may not."""
    mark = f"{labels.CAMPAIGN}={campaign.name}"
    return f"kubectl delete jobs -n {campaign.task.namespace} -l {mark}"


def run_key(uid: str, scenario: int) -> str:
    """Return the key of a scenario's attempts in observations, as ``pods.identity`` reads it."""
    return bounded(f"run:{_workflow_run(uid)}/{scenario}", MOST_RUN_BYTES)


def job_manifest(campaign: Campaign, run: CampaignRun) -> dict[str, Any]:
    """Return the Job: one pod, never restarted, with the campaign's memory and the run's values.

    The campaign owns it, so both are deleted together. Its mode is ``recommend``: it is observed
    and learned from, and nothing sizes, lifts, lends or raises it.
    """
    marks = {
        labels.CAMPAIGN: campaign.name,
        labels.SCENARIO: f"{run.scenario}-{run.attempt}",
    }
    spec: dict[str, Any] = {
        # The campaign makes the next attempt: it knows the size, and what the budget allows.
        "backoffLimit": 0,
        "completions": 1,
        "parallelism": 1,
        "ttlSecondsAfterFinished": KEPT_S,
        "template": _pod_template(campaign, run, marks),
    }
    owner = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": campaign.name,
        "uid": campaign.uid,
        "controller": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(campaign.name, campaign.uid, run),
            "namespace": campaign.task.namespace,
            "labels": marks,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _pod_template(campaign: Campaign, run: CampaignRun, marks: Mapping[str, str]) -> dict[str, Any]:
    template: dict[str, Any] = copy.deepcopy(dict(campaign.template))
    written = template.get("metadata") or {}
    own_labels = {**(written.get("labels") or {})}
    annotations = {**(written.get("annotations") or {})}
    for key in _OVERRIDDEN:
        own_labels.pop(key, None)
    template["metadata"] = {
        "labels": {**own_labels, **marks, labels.TASK: campaign.task.name},
        "annotations": {**annotations, **_annotations(campaign, run)},
    }
    template["spec"]["restartPolicy"] = "Never"
    container = sized_container(template)
    if isinstance(container, SizedContainer):
        _fill(template["spec"]["containers"][container.index], campaign, run)
        template["metadata"]["annotations"].setdefault(labels.CONTAINER, container.name)
    return template


def _annotations(campaign: Campaign, run: CampaignRun) -> dict[str, str]:
    annotations: dict[str, str] = {}
    for feature in campaign.features:
        value = run.values.get(feature.name)
        if value is not None:
            annotations[f"{labels.FEATURE_PREFIX}{feature.name}"] = value
            if feature.annotation is not None:
                annotations[feature.annotation] = value
    # Last, so that no feature makes this another run, or has it sized.
    return annotations | {
        labels.MODE: "recommend",
        labels.CPU_MODE: "recommend",
        labels.RETRY: "never",
        labels.RUN: _workflow_run(campaign.uid),
        labels.ITEM: str(run.scenario),
    }


def _fill(container: MutableMapping[str, Any], campaign: Campaign, run: CampaignRun) -> None:
    """Give a container the run's memory, and its values by environment and argument."""
    resources = {**(container.get("resources") or {})}
    memory = format_bytes(run.memory_bytes)
    for kind in ("requests", "limits"):
        resources[kind] = {**(resources.get(kind) or {}), "memory": memory}
    container["resources"] = resources
    passed = [
        (each, run.values[each.name]) for each in campaign.features if each.name in run.values
    ]
    by_env = {
        each.env: {"name": each.env, "value": _literal(value)}
        for each, value in passed
        if each.env is not None
    }
    if by_env:
        # Kubernetes replaces $(NAME) only by variables written earlier: a written one keeps its
        # place, and new ones come first.
        written = container.get("env") or ()
        names = {each.get("name") for each in written}
        new = [each for name, each in by_env.items() if name not in names]
        container["env"] = [*new, *(by_env.get(each.get("name"), each) for each in written)]
    arguments = [
        _literal(f"{each.argument}={value}") for each, value in passed if each.argument is not None
    ]
    if arguments:
        container["args"] = [*(container.get("args") or ()), *arguments]


def _literal(text: str) -> str:
    """Return the text so that Kubernetes passes it unchanged: it replaces $(NAME), and $$ by $."""
    return text.replace("$", "$$")


def _workflow_run(uid: str) -> str:
    return f"campaign-{uid}"
