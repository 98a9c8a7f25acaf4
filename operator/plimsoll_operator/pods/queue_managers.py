"""Knows the pods that a queue manager holds to the size that it counted for them.

Kueue counts a Job by its template, so the Job's pods may get another size. A pod that it admits by
itself is counted by its own containers: where these have changed, in whatever way, Kueue takes the
pod for another one than it admitted, and deletes it.

https://github.com/kubernetes-sigs/kueue: pkg/controller/jobs/pod/pod_webhook.go,
pkg/controller/jobframework/reconciler.go (``EquivalentToWorkload``)
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.pods.spec import Pod, labels_of, mapping, metadata_of, sequence, spec_of

KUEUE: Final = "kueue.x-k8s.io/"
MANAGED: Final = f"{KUEUE}managed"
"""A label of a pod that Kueue admits by itself, and the name of its finalizer."""


def is_counted_by_kueue(pod: Pod) -> bool:
    """Say whether Kueue counts the pod itself, whether it waits, runs or has ended.

    The label is not on pods of a Deployment that Kueue looks after; the finalizer is.
    """
    if labels_of(pod).get(MANAGED) == "true":
        return True
    if MANAGED in sequence(metadata_of(pod).get("finalizers")):
        return True
    gates = sequence(spec_of(pod).get("schedulingGates"))
    return any(str(mapping(gate).get("name")).startswith(KUEUE) for gate in gates)
