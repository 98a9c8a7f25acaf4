"""Secrets as the API gives and takes them, their tokens, and the Event on a mended one. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from plimsoll_operator.profile.events import CONTROLLER

TLS: Final = "kubernetes.io/tls"
OPAQUE: Final = "Opaque"
ENTRY: Final = "token"
_USABLE: Final = re.compile(rb"[!-~]{16,512}")
"""Printable, without spaces: it travels in a header."""
MENDED: Final = "Mended"
MOST_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class SecretName:
    """A Secret's namespace and name."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str, default_namespace: str) -> SecretName:
        """Parse ``namespace/name``, or a name in the default namespace.

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
    carried = {key: meta[key] for key in ("annotations", "resourceVersion", "uid") if key in meta}
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
            **carried,
        },
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""


def token_in(data: Mapping[str, bytes]) -> str | None:
    """The token of a Secret, also one that a person wrote; None if it holds none of use."""
    text = (data.get(ENTRY) or b"").strip()
    return text.decode("ascii") if _USABLE.fullmatch(text) else None


def new_token() -> str:
    """256 bits that nobody knows."""
    return secrets.token_urlsafe(32)


def mended(secret: Mapping[str, Any], why: str, now_s: float, instance: str) -> dict[str, Any]:
    """An events.k8s.io/v1 Event. secret: as it was before, which names its Event: one for each.

    why: what was wrong with it, as a sentence without its subject.
    """
    meta = secret["metadata"]
    version = f"{meta.get('uid')}/{meta.get('resourceVersion')}"
    digest = hashlib.sha256(version.encode()).hexdigest()[:16]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{meta['name'][:200]}.{digest}",
            "namespace": meta["namespace"],
            "labels": {"app.kubernetes.io/managed-by": "plimsoll"},
        },
        "eventTime": datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
        "action": "Mend",
        "reason": MENDED,
        "type": "Warning",
        "note": f"Plimsoll wrote this Secret anew: {why}"[:MOST_CHARACTERS],
        "regarding": {
            "apiVersion": "v1",
            "kind": "Secret",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta.get("uid", ""),
        },
    }
