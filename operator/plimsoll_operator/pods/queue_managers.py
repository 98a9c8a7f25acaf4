"""Knows the pods that must keep the size that a queue manager counted, and what it wrote on them.

Kueue counts a Job by its template, so the Job's pods may get another size. It counts a pod that it
admits by itself by the pod's own containers: if these change in any way, Kueue takes the pod for
another one than it admitted, and deletes it.

When it admits a pod, Kueue writes labels and annotations on it that name this admission. A copy of
the pod that has them is never released, because Kueue does not overwrite them. Like all that is for
one pod alone (``creation.py``), they are left out of a copy.

https://github.com/kubernetes-sigs/kueue: pkg/controller/jobs/pod/pod_webhook.go,
pkg/controller/jobframework/reconciler.go (``EquivalentToWorkload``), pkg/podset/podset.go
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.pods.spec import Pod, labels_of, mapping, metadata_of, sequence, spec_of

KUEUE: Final = "kueue.x-k8s.io/"
MANAGED: Final = f"{KUEUE}managed"
"""A label of a pod that Kueue admits by itself, and the name of its finalizer."""
OF_ONE_ADMISSION: Final = frozenset({f"{KUEUE}workload", f"{KUEUE}podset"})
"""What Kueue wrote on a pod when it released it; admission checks may have added more."""
DEADLINE: Final = f"{KUEUE}max-exec-time-seconds"
"""A label of a Job, or of a pod that Kueue admits by itself: the seconds after which Kueue ends it
for good."""


def is_counted_by_kueue(pod: Pod) -> bool:
    """Say whether Kueue counts the pod itself, whether it waits, runs or has ended.

    Pods of a Deployment that Kueue manages do not have the label, but they have the finalizer.
    """
    if labels_of(pod).get(MANAGED) == "true":
        return True
    if MANAGED in sequence(metadata_of(pod).get("finalizers")):
        return True
    gates = sequence(spec_of(pod).get("schedulingGates"))
    return any(str(mapping(gate).get("name")).startswith(KUEUE) for gate in gates)
