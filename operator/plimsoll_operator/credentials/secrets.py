"""Secrets as the API gives and takes them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TLS: Final = "kubernetes.io/tls"
OPAQUE: Final = "Opaque"


@dataclass(frozen=True, slots=True)
class SecretName:
    """Where a Secret is."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str, default_namespace: str) -> SecretName:
        """From ``namespace/name``, or a name in the default namespace.

        Raises:
            ValueError: if it is neither.

        """
        namespace, _, name = text.rpartition("/")
        if not name or "/" in namespace:
            raise ValueError(f"{text!r} names no Secret; write NAME or NAMESPACE/NAME")
        return cls(namespace or default_namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def data_of(secret: Mapping[str, Any]) -> dict[str, bytes]:
    """A Secret's entries; one that is no base64 is empty."""
    return {key: _decoded(text) for key, text in (secret.get("data") or {}).items()}


def manifest(
    name: SecretName, kind: str, data: Mapping[str, bytes], before: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A Secret to create, or, with what it was before, to put in its place.

    What others wrote into the metadata of the one before stays.
    """
    meta = {} if before is None else before["metadata"]
    kept = {key: meta[key] for key in ("annotations", "resourceVersion", "uid") if key in meta}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": kind if before is None else before.get("type", kind),
        "metadata": {
            "name": name.name,
            "namespace": name.namespace,
            "labels": {
                **(meta.get("labels") or {}),
                "app.kubernetes.io/managed-by": "plimsoll",
                "app.kubernetes.io/name": "plimsoll",
            },
            **kept,
        },
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""
