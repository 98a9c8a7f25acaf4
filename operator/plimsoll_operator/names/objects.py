"""Reads the parts of a Kubernetes object: any part may be missing or of the wrong type.

Objects are plain mappings from an AdmissionReview or from the API. Strangers wrote them, so every
value can have any type; a value of the wrong type counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Pod = Mapping[str, Any]

EMPTY: Final[Mapping[str, Any]] = {}


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    # The first check is nearly always enough, and costs a tenth of the abstract class' check.
    return value if type(value) is dict or isinstance(value, Mapping) else EMPTY


def sequence(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def count_of(value: object) -> int | None:
    """Return the value if it is a whole number from 0 on, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def metadata_of(pod: Pod) -> Mapping[str, Any]:
    """Return the pod's metadata; empty if it has none."""
    return mapping(pod.get("metadata"))


def name_of(pod: Pod) -> str:
    """Return NAMESPACE/NAME, for logs."""
    meta = metadata_of(pod)
    return f"{meta.get('namespace')}/{meta.get('name')}"


def spec_of(pod: Pod) -> Mapping[str, Any]:
    """Return the pod's spec; empty if it has none."""
    return mapping(pod.get("spec"))


def template_of(job: Mapping[str, Any]) -> Pod:
    """Return the template of a Job's pods; empty if it has none."""
    return mapping(spec_of(job).get("template"))


def conditions_in(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the conditions in an object's status."""
    return [mapping(each) for each in sequence(mapping(document.get("status")).get("conditions"))]


def labels_of(pod: Pod) -> Mapping[str, Any]:
    """Return the pod's labels; empty if it has none."""
    return mapping(metadata_of(pod).get("labels"))


def annotations_of(pod: Pod) -> Mapping[str, Any]:
    """Return the pod's annotations; empty if it has none."""
    return mapping(metadata_of(pod).get("annotations"))
