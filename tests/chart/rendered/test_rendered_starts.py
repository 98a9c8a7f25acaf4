"""No process of the chart is restarted because it starts slowly on a busy or small node."""

from __future__ import annotations

from typing import Any

from tests.chart.helm import Helm, pod_specs

STARTED_WITHIN_S = 300
"""A safety net: afterwards the liveness probe watches, and an earlier end begins the start anew."""


def allowed_s(probe: dict[str, Any]) -> int:
    """From a container's start until the kubelet restarts it; Kubernetes' own defaults."""
    return int(probe.get("periodSeconds", 10) * probe.get("failureThreshold", 3))


def test_each_start_may_take_minutes(helm: Helm) -> None:
    documents = helm.render({"extender": {"enabled": True}})
    starts = {
        pod: allowed_s(container["startupProbe"])
        for pod, spec in pod_specs(documents).items()
        for container in spec["containers"]
        if "startupProbe" in container
    }
    assert {f"plimsoll-{each}" for each in ("admission", "controller", "extender")} <= starts.keys()
    assert min(starts.values()) >= STARTED_WITHIN_S, starts
