"""Says what a restart in place keeps of a pod, and a new pod would lose. Pure.

A restart in place starts one container, and leaves the others and the pod's volumes as they are. A
new pod starts all containers again, and its volumes are empty.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.pods.spec import Pod, mapping, sequence, spec_of

_END_WITH_THE_POD: Final = ("emptyDir", "ephemeral")
"""Kinds of volumes. A checkpoint in one of them outlives a restart in place, and not the pod."""
_MEMORY: Final = "Memory"
"""A medium that is mostly ``/dev/shm``: its files are of use to living processes alone."""


def kept_work(pod: Pod, container: str) -> str | None:
    """Say why a new pod would do work again, in words; None if it would not, as far as is known.

    container: the one that was killed.
    """
    if any(
        mapping(status).get("name") != container
        and mapping(mapping(mapping(status).get("state")).get("terminated")).get("exitCode") == 0
        for status in sequence(mapping(pod.get("status")).get("containerStatuses"))
    ):
        return "a new pod would run again what another of its containers has done"
    spec = spec_of(pod)
    kept = {
        mapping(volume).get("name")
        for volume in sequence(spec.get("volumes"))
        if any(kind in mapping(volume) for kind in _END_WITH_THE_POD)
        and mapping(mapping(volume).get("emptyDir")).get("medium") != _MEMORY
    }
    for each in sequence(spec.get("containers")):
        if mapping(each).get("name") == container:
            mounts = sequence(mapping(each).get("volumeMounts"))
            if any(mapping(mount).get("name") in kept for mount in mounts):
                return "a new pod would start without the files in its emptyDir"
    return None
