"""What follows from an answer of the API server that is no success: one class for each."""

from __future__ import annotations

import json
from typing import Any, Final


class ApiError(Exception):
    """A call that did not succeed; the message is the API server's own where it gave one."""


class Unreachable(ApiError):
    """No answer, or one that asks to come back later: retry."""


class NotFound(ApiError):
    """The object, its namespace or its kind is not there."""


class AlreadyThere(ApiError):
    """The name is taken."""


class Changed(ApiError):
    """The object is not the one that was meant, or something it depends on changed meanwhile."""


class Refused(ApiError):
    """It will not do it (quota, admission, validation, RBAC): the same again won't help."""


class NoCluster(ApiError):
    """Nothing says which cluster is meant."""


RETRY_LATER: Final = frozenset({408, 429, 500, 502, 503, 504})
MOST_WORDS: Final = 500


def error_of(status: int | None, body: object, reason: str | None = None) -> ApiError:
    """The error that an answer is. status: None where there was none. reason: HTTP's own words."""
    answer = _status_object(body)
    words = str(answer.get("message") or _text(body) or reason)[:MOST_WORDS].strip()
    if status == 401:
        return Refused(f"the API server does not know you: {words}")
    if status == 404:
        return NotFound(words)
    if status == 409:
        # A quota that many pods draw on at once answers 409 as well: nothing is there then.
        return AlreadyThere(words) if answer.get("reason") == "AlreadyExists" else Changed(words)
    if status in RETRY_LATER or not status:
        return Unreachable(f"the API server does not answer: {status} {words}")
    return Refused(words)


def _status_object(body: object) -> dict[str, Any]:
    try:
        found = json.loads(_text(body))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(body: object) -> str:
    return body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
