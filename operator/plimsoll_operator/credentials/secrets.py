"""Secrets as the API gives and takes them, their tokens, and the Event on a mended one. Pure."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.profile.event_manifests import event_for
from plimsoll_operator.wording.event_words import EventReason, Happening, Regarding

TLS: Final = "kubernetes.io/tls"
OPAQUE: Final = "Opaque"
ENTRY: Final = "token"
_USABLE: Final = re.compile(rb"[!-~]{16,512}")
"""Printable, without spaces: it travels in a header."""


@dataclass(frozen=True, slots=True)
class SecretName:
    """A Secret's namespace and name."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str, default_namespace: str) -> SecretName:
        """Parse ``namespace/name``, or a name in the default namespace; ValueError for others."""
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
    """A Secret to create, or to put in the place of the one ``before``, whose metadata stays."""
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
    """The token of a Secret, even if a person wrote it; None if it holds no usable token."""
    text = (data.get(ENTRY) or b"").strip()
    return text.decode("ascii") if _USABLE.fullmatch(text) else None


def new_token() -> str:
    """Make a token of 256 random bits."""
    return secrets.token_urlsafe(32)


def mended(secret: Mapping[str, Any], why: str, now_s: float, instance: str) -> dict[str, Any]:
    """An Event. secret: as it was before; each version of it has one Event.

    why: what was wrong with it, as a sentence without its subject.
    """
    meta = secret["metadata"]
    note = f"Plimsoll wrote this Secret anew: {why}"
    happening = Happening(EventReason.MENDED, note, str(meta.get("resourceVersion")))
    regarding = Regarding(
        kind="Secret", namespace=meta["namespace"], name=meta["name"], uid=meta.get("uid", "")
    )
    return event_for(happening, regarding, at_s=now_s, instance=instance)
