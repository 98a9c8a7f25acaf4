"""ProfilingCampaigns, Jobs and pods as the API server has them."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from tests.campaigns.campaigns import a_campaign

UID = "0b2f5c5e-9a0b-4c2a-8a5e-111111111111"


def stored(**spec: Any) -> dict[str, Any]:
    """A campaign as the API server gives it. spec: other fields of it."""
    document = a_campaign(**spec)
    document["metadata"] |= {
        "namespace": "shop",
        "uid": UID,
        "generation": 3,
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    return document


def owned_by(kind: str, uid: str) -> dict[str, Any]:
    """The metadata of an owned object."""
    return {"ownerReferences": [{"kind": kind, "name": "n", "uid": uid, "controller": True}]}


def a_job(scenario: int, attempt: int = 1, *, owner: str = UID, **status: Any) -> dict[str, Any]:
    """A campaign's Job."""
    meta = {
        **owned_by("ProfilingCampaign", owner),
        "name": f"job-{scenario}",
        "uid": f"job-{scenario}",
        "labels": {labels.SCENARIO: f"{scenario}-{attempt}"},
    }
    return {"metadata": meta, "status": status}


def its_pod(scenario: int, **status: Any) -> dict[str, Any]:
    """The pod of such a Job."""
    return {
        "metadata": {**owned_by("Job", f"job-{scenario}"), "uid": f"pod-{scenario}"},
        "spec": {"containers": [{"name": "main", "image": "registry/none:1"}]},
        "status": status,
    }
