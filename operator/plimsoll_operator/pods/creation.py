"""Tells who wrote an annotation of a pod that is being created: its maker, or a webhook.

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
