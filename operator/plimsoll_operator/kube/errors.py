"""The API server's errors: one class for each thing that a caller can do about one."""

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


UNREACHABLE_PAUSE_S: Final = 2.0
"""An API server that does not answer is asked again after this pause."""
REFUSED_PAUSE_S: Final = 10.0
"""An object that the API server refused is written again after this pause."""
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
        # A quota under many writes answers 409 as well, and then nothing was created.
        return AlreadyThere(words) if answer.get("reason") == "AlreadyExists" else Changed(words)
    if status in RETRY_LATER or not status:
        return Unreachable(f"the API server does not answer: {status} {words}")
    return Refused(words)


def _status_object(body: object) -> dict[str, Any]:
    try:
        answer = json.loads(_text(body))
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _text(body: object) -> str:
    return body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
