"""The API server's errors: one class for each way in which a caller can react."""

from __future__ import annotations

import json
from typing import Any, Final


class ApiError(Exception):
    """A call failed; the message is the API server's own if it gave one."""


class Unreachable(ApiError):
    """There is no answer, or one that asks for a later retry."""


class NotFound(ApiError):
    """The object, its namespace or its kind does not exist."""


class AlreadyThere(ApiError):
    """Another object has the name already."""


class Changed(ApiError):
    """The object is another one by now, or something that it depends on has changed."""


class Refused(ApiError):
    """Quota, admission, validation or RBAC refuses the call: the same call will fail again."""


class Unknown(Refused):
    """The API server does not accept the credentials; other ones may be accepted."""


class Unprocessable(Refused):
    """A rule refuses the change, or the change no longer fits the object as it is by now."""


class Expired(Refused):
    """The API server does not keep the rest of a list any more: read it from its start again."""


class NoCluster(ApiError):
    """Nothing names the cluster."""


UNREACHABLE_PAUSE_S: Final = 2.0
"""An API server that does not answer is asked again after this pause."""
REFUSED_PAUSE_S: Final = 10.0
"""An object that the API server refused is written again after this pause."""
RETRY_LATER: Final = frozenset({408, 429, 500, 502, 503, 504})
MOST_WORDS: Final = 500


def error_of(status: int | None, body: object, reason: str | None = None) -> ApiError:
    """Return the error for an answer. status: None if there was none. reason: HTTP's own words."""
    answer = _status_object(body)
    words = str(answer.get("message") or _text(body) or reason)[:MOST_WORDS].strip()
    if status == 401:
        return Unknown(f"the API server does not know you: {words}")
    if status == 404:
        return NotFound(words)
    if status == 409:
        # A quota under many writes answers 409 as well, and then nothing was created.
        return AlreadyThere(words) if answer.get("reason") == "AlreadyExists" else Changed(words)
    if status == 410:
        return Expired(words)
    if status == 422:
        return Unprocessable(words)
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
