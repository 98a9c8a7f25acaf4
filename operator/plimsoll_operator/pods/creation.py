"""Tells what a pod's maker wrote on it, and what others did: webhooks, and schedulers.

The API server notes the writer of each field of a new object (``managedFields``) before it asks any
webhook. It notes the changes of webhooks only when the last of them has answered. So if a webhook
sees a field without a writer, a webhook wrote it during this very creation.
"""

from __future__ import annotations

from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of, sequence


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


def author_chose_node(pod: Pod) -> bool:
    """Say whether the pod was created on its node, and not placed there by a scheduler.

    A scheduler binds a pod without writing the field itself, so the field has no owner then. The
    conditions of both pods look alike.
    """
    return any(
        "f:nodeName" in mapping(mapping(mapping(entry).get("fieldsV1")).get("f:spec"))
        for entry in sequence(metadata_of(pod).get("managedFields"))
    )
