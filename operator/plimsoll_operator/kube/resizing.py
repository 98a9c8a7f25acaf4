"""Asks the API server whether pods that exist can be resized."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.kube.api_server import CORE, ApiServer
from plimsoll_operator.kube.errors import UNREACHABLE_PAUSE_S, Unreachable
from plimsoll_operator.pods.spec import mapping, sequence

LEAST_VERSION: Final = (1, 33)
"""Since this version the resize subresource needs no feature gate; before, it was alpha."""
LIMITS_FALL_SINCE: Final = (1, 34)
"""Before this version no memory limit may fall without a restart (kubernetes/kubernetes#133012)."""
RESIZE: Final = "pods/resize"
CHECK_AGAIN_S: Final = 600.0
"""By then an API server that cannot resize may be upgraded, or the role may have the right."""


@dataclass(frozen=True, slots=True)
class Resizing:
    """What the API server can resize.

    why_not: why it resizes no pod, in words; None if it does.
    limits_fall: whether a resize may lower a memory limit.
    """

    why_not: str | None
    limits_fall: bool


async def ask_resizing(api: ApiServer) -> Resizing:
    """Ask until the API server answers. ApiError if it does not say what it can."""
    while True:
        try:
            return read_resizing(await api.get("/version"), await api.get(CORE))
        except Unreachable:
            await asyncio.sleep(UNREACHABLE_PAUSE_S)


def read_resizing(version: Mapping[str, Any], resources: Mapping[str, Any]) -> Resizing:
    """Read what ``/version`` and ``/api/v1`` answer."""
    numbers = _number(version.get("major")), _number(version.get("minor"))
    why = None
    if numbers < LEAST_VERSION:
        shown = str(version.get("gitVersion") or "of an unknown version")[:64]
        why = f"the API server is {shown}; from 1.33 on, pods that wait can be resized"
    elif not any(map(_is_resize, sequence(resources.get("resources")))):
        why = f"the API server has no {RESIZE}"
    return Resizing(why, limits_fall=numbers >= LIMITS_FALL_SINCE)


def _number(text: object) -> int:
    """Return the leading number: some vendors write a minor version as "33+"."""
    digits = re.match(r"\d{1,6}", str(text))
    return int(digits.group()) if digits else 0


def _is_resize(resource: object) -> bool:
    entry = mapping(resource)
    return entry.get("name") == RESIZE and "patch" in sequence(entry.get("verbs"))


async def until_possible(
    why_not: Callable[[], Awaitable[str | None]], say: Callable[[str], object]
) -> None:
    """Say why not, and ask again later, until there is no reason any more."""
    while (why := await why_not()) is not None:
        say(why)
        await asyncio.sleep(CHECK_AGAIN_S)
