"""Checks the token of a request to the controller, from a replica of admission or an agent."""

from __future__ import annotations

import hmac

from aiohttp import web


def is_bearer(request: web.Request, token: str) -> bool:
    """Say whether the request carries the token; they are compared in constant time."""
    # aiohttp turns bytes that are not text into surrogates, which plain encoding refuses.
    shown = request.headers.get("Authorization", "").encode(errors="surrogateescape")
    return hmac.compare_digest(shown, f"Bearer {token}".encode())
