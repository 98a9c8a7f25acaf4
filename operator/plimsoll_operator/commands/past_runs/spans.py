"""The span of time that an import asks for, as people write it."""

from __future__ import annotations

import re
from datetime import UTC
from typing import Final

from dateutil import parser as dates

_UNITS_S: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})([mhdw])")


class BadTime(ValueError):
    """Neither a span of time nor a date."""


def span_before(now_s: float, since: str, until: str | None) -> tuple[float, float]:
    """Return when the span begins and ends, as Unix seconds; without ``until`` it ends now.

    Raises BadTime if one of them is no time, or the span is empty.
    """
    start_s = unix_s(since, now_s)
    end_s = now_s if until is None else unix_s(until, now_s)
    if end_s <= start_s:
        raise BadTime("--until is not after --since")
    return start_s, end_s


def unix_s(text: str, now_s: float) -> float:
    """A span before now, or a date (UTC if it names no zone), as Unix seconds.

    Raises:
        BadTime: if it is neither, or in the future.

    """
    if span := _SPAN.fullmatch(text):
        return now_s - int(span[1]) * _UNITS_S[span[2]]
    try:
        date = dates.isoparse(text)
        at_s = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadTime(f"{text!r} is no time; write 30d, 12h, 90m, 2w, or 2026-01-31") from error
    if not 0 <= at_s <= now_s:
        raise BadTime(f"{text!r} is not in the past")
    return at_s
