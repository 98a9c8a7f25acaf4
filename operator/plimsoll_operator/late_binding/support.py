"""Whether the API server can resize a pod that waits. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.pods.spec import mapping, sequence

LEAST_VERSION: Final = (1, 33)
"""From here on the resize subresource is there without a feature gate; before, it was alpha."""
RESIZE: Final = "pods/resize"


def why_not(version: Mapping[str, Any], resources: Mapping[str, Any]) -> str | None:
    """Why waiting pods cannot be resized, in words; None if they can.

    version: what ``/version`` answers. resources: what ``/api/v1`` answers.
    """
    known = _number(version.get("major")), _number(version.get("minor"))
    if known < LEAST_VERSION:
        shown = str(version.get("gitVersion") or "of an unknown version")[:64]
        return f"the API server is {shown}; from 1.33 on, pods that wait can be resized"
    for resource in sequence(resources.get("resources")):
        found = mapping(resource)
        if found.get("name") == RESIZE and "patch" in sequence(found.get("verbs")):
            return None
    return f"the API server has no {RESIZE}"


def _number(text: object) -> int:
    """The leading number: some vendors write a minor version as "33+"."""
    found = re.match(r"\d{1,6}", str(text))
    return int(found.group()) if found else 0
