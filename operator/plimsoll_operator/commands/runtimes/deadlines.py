"""Deadlines as people write them: a span from now, or a time. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_SPAN: Final = re.compile(
    r"(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?"
)
_MOST_LETTERS: Final = 64


class BadDeadline(ValueError):
    """Neither a span nor a time that is still to come."""


def deadline_s(within: str | None, by: str | None, now_s: float) -> float | None:
    """Seconds from now to a deadline that is written as a span or as a time; None if none is.

    Raises:
        BadDeadline: if it is neither, or both are written.
    """
    if within is not None and by is not None:
        raise BadDeadline("--within and --by both name a deadline; write one")
    if within is not None:
        return span_s(within)
    return None if by is None else seconds_until(by, now_s)


def span_s(text: str) -> float:
    """Seconds of a span.

    >>> span_s("90m"), span_s("1h30m"), span_s("2d")
    (5400.0, 5400.0, 172800.0)

    Raises:
        BadDeadline: if it is none.
    """
    parts = _SPAN.fullmatch(text[:_MOST_LETTERS])
    if parts is None or not any(parts.groups()):
        raise BadDeadline(f"{text[:_MOST_LETTERS]!r} is no span; write 90m, 1h30m, 45s or 2d")
    days, hours, minutes, seconds = (float(each or 0) for each in parts.groups())
    total_s = 86_400 * days + 3_600 * hours + 60 * minutes + seconds
    if total_s <= 0:
        raise BadDeadline(f"{text[:_MOST_LETTERS]!r} is over at once; write a span above zero")
    return total_s


def seconds_until(text: str, now_s: float) -> float:
    """Seconds from now to a time, ISO 8601; one without a zone is UTC.

    >>> seconds_until("1970-01-01T01:00Z", 600.0)
    3000.0

    Raises:
        BadDeadline: if it is none, or has passed.
    """
    try:
        at = datetime.fromisoformat(text[:_MOST_LETTERS].strip())
        at_s = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadDeadline(
            f"{text[:_MOST_LETTERS]!r} is no time; write 2026-01-31T06:00Z"
        ) from error
    if at_s <= now_s:
        raise BadDeadline(f"{text[:_MOST_LETTERS]} has passed; name a time to come")
    return at_s - now_s
