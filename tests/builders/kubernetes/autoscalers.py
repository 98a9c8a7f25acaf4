"""VerticalPodAutoscalers for tests, as the API server shows them, and what they do to pods."""

from __future__ import annotations

from typing import Any

from tests.builders.pods import APod


def a_vpa(
    kind: str = "CronJob",
    target: str = "report",
    *,
    name: str = "report-vpa",
    namespace: str = "shop",
    mode: str | None = "Recreate",
    containers: list[dict[str, Any]] | None = None,
    version: str = "batch/v1",
) -> dict[str, Any]:
    """mode: None writes no updatePolicy. containers: its container policies; None writes none."""
    spec: dict[str, Any] = {"targetRef": {"apiVersion": version, "kind": kind, "name": target}}
    if mode is not None:
        spec["updatePolicy"] = {"updateMode": mode}
    if containers is not None:
        spec["resourcePolicy"] = {"containerPolicies": containers}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def updated(pod: APod, memory: str, *, by: str = "report-vpa", limit: str | None = None) -> APod:
    """The pod after a VerticalPodAutoscaler's webhook has changed its first container."""
    said = "cpu request, memory request" + ("" if limit is None else ", memory limit")
    note = f"Pod resources updated by {by}: container 0: {said}"
    changed = pod.asking(memory).annotated({"vpaUpdates": note})
    return changed if limit is None else changed.limited(limit)


VPA_KIND: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "verticalpodautoscalers.autoscaling.k8s.io",
        # The API server takes a group of k8s.io only with this annotation; this is the real one.
        "annotations": {
            "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"
        },
    },
    "spec": {
        "group": "autoscaling.k8s.io",
        "scope": "Namespaced",
        "names": {
            "kind": "VerticalPodAutoscaler",
            "listKind": "VerticalPodAutoscalerList",
            "plural": "verticalpodautoscalers",
            "singular": "verticalpodautoscaler",
            "shortNames": ["vpa"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""Their kind, by name and version; any content is allowed, because the reader has to bear any."""
