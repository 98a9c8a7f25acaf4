r"""The feed's messages: JSON over HTTP.

    {"epoch": "…", "revision": 7, "head": 9, "full": false,
     "defaults": {"policy": {…}, "largest_node_bytes": 16000000000},
     "namespaces": {"shop": {"policy": null, "limit_ranges": […], "quotas": […]}},
     "models": {"shop/train": {…}},
     "tasks": {"shop/train": {…}},
     "items": {"[\"run\",\"r7\",\"shop/s1\"]": {"needs": [["align", 104857600]]}},
     "removed": {"tasks": ["shop/old"], "namespaces": [], "models": []}}

``revision`` is where the next question starts; while it is below ``head`` there is more at once.
``defaults`` is null where it did not change. ``full``: forget what was known before.
A task's model is a hundred times what else is known of it, and changes once in a hundred times: so
it goes by itself, before the task that is to use it. A task that goes takes its model along.
Readers from before say no ``v`` in their question, and get each task with its ``model`` in it;
controllers from before answer so to everybody, and it is read.
``items`` are never removed: both sides keep as many, the latest. Who is older does not read them,
who is newer does without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

FEED_PATH: Final = "/v1/feed"
VERSION: Final = 2
"""Of the messages that a reader understands; 1 of those with models in their tasks."""


class ChangeKind(StrEnum):
    """What a change is about."""

    MODEL = "models"
    """A task's model, by the task's name."""
    TASK = "tasks"
    NAMESPACE = "namespaces"
    DEFAULTS = "defaults"
    ITEM = "items"
    """What was needed for an item of a workflow; never removed."""


@dataclass(frozen=True, slots=True)
class Change:
    """The newest state of one key.

    data: its JSON; None if it was removed.
    """

    kind: ChangeKind
    name: str
    revision: int
    data: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedMessage:
    """One answer of the feed, its parts still plain JSON."""

    epoch: str
    revision: int
    head: int
    full: bool
    defaults: Mapping[str, Any] | None
    namespaces: Mapping[str, Any]
    tasks: Mapping[str, Any]
    removed_tasks: Sequence[str]
    removed_namespaces: Sequence[str]
    items: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    removed_models: Sequence[str] = ()


class BadMessage(ValueError):
    """Not a message of this feed; what was known stays, and the question is asked again."""


def encode_message(
    *, epoch: str, revision: int, head: int, full: bool, changes: Sequence[Change]
) -> bytes:
    """JSON of one message. The entries are JSON already and are put in as they are."""
    body: dict[str, Any] = {
        "epoch": epoch,
        "revision": revision,
        "head": head,
        "full": full,
        "defaults": None,
        "namespaces": {},
        "tasks": {},
        "items": {},
        "removed": {"tasks": [], "namespaces": []},
    }
    for change in changes:
        if change.data is None:
            body["removed"].setdefault(change.kind.value, []).append(change.name)
        elif change.kind is ChangeKind.DEFAULTS:
            body["defaults"] = orjson.Fragment(change.data)
        else:
            # Without models a message is as readers from before know it.
            body.setdefault(change.kind.value, {})[change.name] = orjson.Fragment(change.data)
    return orjson.dumps(body)


def decode_message(text: bytes) -> FeedMessage:
    """Inverse of ``encode_message``, as far as the frame; entries are checked one by one later.

    Raises:
        BadMessage: if the frame is not the feed's.

    """
    try:
        body = orjson.loads(text)
        removed = body["removed"]
        message = FeedMessage(
            epoch=body["epoch"],
            revision=body["revision"],
            head=body["head"],
            full=body["full"],
            defaults=body["defaults"],
            namespaces=body["namespaces"],
            tasks=body["tasks"],
            removed_tasks=removed["tasks"],
            removed_namespaces=removed["namespaces"],
            items=body.get("items", {}),  # a controller from before has none
            models=body.get("models", {}),
            removed_models=removed.get("models", []),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BadMessage(f"the feed answered what is not its message: {error!r:.200}") from error
    _check(message)
    return message


def _check(message: FeedMessage) -> None:
    wanted = {
        "epoch": str,
        "revision": int,
        "head": int,
        "full": bool,
        "namespaces": dict,
        "tasks": dict,
        "items": dict,
        "models": dict,
        "removed_models": list,
        "removed_tasks": list,
        "removed_namespaces": list,
    }
    for name, kind in wanted.items():
        if not isinstance(getattr(message, name), kind):
            raise BadMessage(f"the feed's message has a wrong {name!r}; is it another version's?")
    if not 0 <= message.revision <= message.head:
        raise BadMessage(f"the feed's revision {message.revision} is not within 0..{message.head}")
    if message.defaults is not None and not isinstance(message.defaults, dict):
        raise BadMessage("the feed's message has wrong 'defaults'; is it another version's?")
