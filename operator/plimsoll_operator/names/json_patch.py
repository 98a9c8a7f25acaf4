"""Operations of a JSON Patch (RFC 6902), and the paths that they name."""

from __future__ import annotations

from typing import Any

Operation = dict[str, Any]


def add(path: str, value: object) -> Operation:
    """Return the operation that sets a member; it replaces one that is there."""
    return {"op": "add", "path": path, "value": value}


def pointer(*names: str) -> str:
    """Return the path of a member by the names on its way, escaped as RFC 6901 says.

    >>> pointer("metadata", "annotations", "plimsoll.dev/a~b")
    '/metadata/annotations/plimsoll.dev~1a~0b'
    """
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


def annotation_path(name: str) -> str:
    """Return the path of an object's annotation."""
    return pointer("metadata", "annotations", name)
