"""ProfilingCampaigns, Jobs and pods as the API server has them."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from tests.campaigns.campaigns import a_campaign


def stored(**spec: Any) -> dict[str, Any]:
    """A campaign as the API server gives it. spec: other fields of it."""
    document = a_campaign(**spec)
    document["metadata"] |= {
        "namespace": "shop",
        "uid": "0b2f5c5e-9a0b-4c2a-8a5e-111111111111",
        "generation": 3,
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    return document


def a_job(scenario: int, attempt: int = 1, **status: Any) -> dict[str, Any]:
    """A campaign's Job."""
    marks = {labels.SCENARIO: str(scenario), labels.SCENARIO_ATTEMPT: str(attempt)}
    return {"metadata": {"name": f"job-{scenario}", "labels": marks}, "status": status}


def its_pod(scenario: int, **status: Any) -> dict[str, Any]:
    """The pod of such a Job."""
    marks = {labels.SCENARIO: str(scenario), labels.SCENARIO_ATTEMPT: "1"}
    return {
        "metadata": {"labels": marks},
        "spec": {"containers": [{"name": "main", "image": "registry/none:1"}]},
        "status": status,
    }
