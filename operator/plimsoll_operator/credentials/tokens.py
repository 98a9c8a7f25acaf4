"""The bearer tokens in Secrets. Pure: what a Secret holds, and what a new one would."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Final

ENTRY: Final = "token"
_USABLE: Final = re.compile(rb"[!-~]{16,512}")
"""Printable, without spaces: it travels in a header."""


def token_in(data: Mapping[str, bytes]) -> str | None:
    """The token of a Secret, also one that a person wrote; None if it holds none of use."""
    text = (data.get(ENTRY) or b"").strip()
    return text.decode("ascii") if _USABLE.fullmatch(text) else None


def new_token() -> str:
    """256 bits that nobody knows."""
    return secrets.token_urlsafe(32)
