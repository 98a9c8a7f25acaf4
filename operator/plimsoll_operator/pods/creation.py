"""Tells what a pod's maker wrote on it, and what others did: webhooks, schedulers, controllers.

The API server notes the writer of each field of a new object (``managedFields``) before it asks any
webhook. It notes the changes of webhooks only when the last of them has answered. So if a webhook
sees a field without a writer, a webhook wrote it during this very creation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)

_KUBECTL: Final = "kubectl"
"""The managers of fields that people write with kubectl begin so: ``kubectl-annotate``, say."""


def wrote_annotation(pod: Pod, name: str) -> bool:
    """Say whether the pod's maker has written the annotation; False if that is unknown."""
    return _wrote(pod, "f:annotations", name)


def wrote_label(obj: Pod, name: str) -> bool:
    """Say whether the maker of a pod or Job has written the label; False if that is unknown."""
    return _wrote(obj, "f:labels", name)


def _wrote(obj: Pod, part: str, name: str) -> bool:
    for entry in sequence(metadata_of(obj).get("managedFields")):
        fields = mapping(mapping(entry).get("fieldsV1"))
        if f"f:{name}" in mapping(mapping(fields.get("f:metadata")).get(part)):
            return True
    return False


def webhook_wrote(pod: Pod, name: str) -> bool:
    """Say whether a webhook wrote the annotation during this very creation of the pod.

    False for a pod that already exists, and where the API server does not note the writers.
    """
    metadata = metadata_of(pod)
    if "resourceVersion" in metadata or not sequence(metadata.get("managedFields")):
        return False
    return name in annotations_of(pod) and not wrote_annotation(pod, name)


def written_for_this_pod(pod: Pod) -> frozenset[str]:
    """Return the labels and annotations that controllers wrote on an existing pod.

    They are for this one pod: the address that a network gave it, the device that it was assigned,
    the admission to a queue. What its maker wrote, and people with kubectl, is for the whole run.
    If a controller overwrites that, the API server notes only the controller. What webhooks wrote
    at its creation is noted under its maker, or under nobody. Empty where the API server does not
    note who made the pod.
    """
    entries = [mapping(each) for each in sequence(metadata_of(pod).get("managedFields"))]
    makers = {str(entry.get("manager")) for entry in entries if _is_of_creation(entry)}
    if not makers:
        return frozenset()
    for_the_run: set[str] = set()
    by_others: set[str] = set()
    for entry in entries:
        manager = str(entry.get("manager"))
        is_author = manager in makers or manager.startswith(_KUBECTL)
        is_for_run = is_author and not entry.get("subresource")
        (for_the_run if is_for_run else by_others).update(_named_in(entry))
    return frozenset(by_others - for_the_run)


def _is_of_creation(entry: Mapping[str, Any]) -> bool:
    """Say whether its manager made the pod: whoever does so writes the containers."""
    of_spec = mapping(mapping(entry.get("fieldsV1")).get("f:spec"))
    return "f:containers" in of_spec and not entry.get("subresource")


def _named_in(entry: Mapping[str, Any]) -> set[str]:
    """Return the labels and annotations whose writer the entry names."""
    fields = mapping(mapping(entry.get("fieldsV1")).get("f:metadata"))
    parts = (mapping(fields.get(part)) for part in ("f:labels", "f:annotations"))
    return {str(name).removeprefix("f:") for part in parts for name in part}


def is_put_on_a_node(pod: Pod) -> bool:
    """Say whether a new pod's maker names its node. In an existing pod, a scheduler may have."""
    return bool(spec_of(pod).get("nodeName")) and "resourceVersion" not in metadata_of(pod)


def author_chose_node(pod: Pod) -> bool:
    """Say whether the pod was created on its node, and not placed there by a scheduler.

    A scheduler binds a pod without writing the field itself, so the field has no owner then. The
    conditions of both pods look alike.
    """
    return any(
        "f:nodeName" in mapping(mapping(mapping(entry).get("fieldsV1")).get("f:spec"))
        for entry in sequence(metadata_of(pod).get("managedFields"))
    )
