r"""The feed's messages: JSON over HTTP.

    {"epoch": "…", "revision": 7, "head": 9, "full": false,
     "defaults": {"policy": {…}, "nodes": {"labels": […], "classes": […], "extended": […]}},
     "namespaces": {"shop": {"policy": null, "limit_ranges": […], "quotas": […]}},
     "models": {"shop/train": {…}},
     "tasks": {"shop/train": {…}},
     "items": {"[\"run\",\"r7\",\"shop/s1\"]": {"needs": [["align", 104857600]]}},
     "pairs": {"": {"kinds": ["(others)", "shop/train"], "hundredths": […], "known": […]}},
     "hosts": {"node-1": {"residents": [[1, 2]]}},
     "loads": {"node-1": {"millicores": 8000, "idle_millicores": 900, "room_mib": 4096}},
     "orders": {"": {"tasks": ["shop/train"], "jobs": true}},
     "chunks": {"shop/train": {…}},
     "leased": {"shop/crunch": {…}},
     "smaller": {"shop/spark.sales.executor": {"steps": 1}},
     "crowded": {"": {"namespaces": ["mall"]}},
     "removed": {"tasks": ["shop/old"], "namespaces": [], "models": [], "hosts": ["node-9"]}}

``revision`` is where the next question starts; while it is below ``head`` there is more at once.
``defaults`` is null if it did not change. ``full``: forget all earlier state.
A task's model is a hundred times larger than the rest of its entry, and changes a hundred times
less often: so it is an entry of its own, before the task that uses it. Removing a task also
removes its model.
A namespace with VerticalPodAutoscalers also has ``autoscalers``; older readers do not read it.
Older readers send no ``v`` in their question, and get each task with its ``model`` in it; older
controllers always answer so, and that is read.
``items`` are never removed: both sides keep the same number of the latest. Older readers do not
read them, and a message without them is read.
``pairs`` is what tasks cost each other on a node, ``hosts`` what runs on which node: places in
``kinds``, and how many. ``loads`` is what is left of a node (``placing.loads.NodeLoad``), without
what is unknown, or ``{"pressed": true}``. They are there only while a policy says ``placing``;
older readers do not read them.
``orders`` names the tasks whose new pods may wait for their turn. It is there only while the
controller would let them go; an older one never sends it, and then no pod waits.
``chunks`` is what chunks of a task's Jobs over items took (``splitting.chunk_runs.Learned``); such
Jobs stay as they are written if the controller or the reader is older.
``leased`` is what leases of a task's Jobs took, in the same form; without it leases have no bound
of their own, and their pods' memory has no lower bound.
``smaller`` is how many times in a row executors of Spark were killed for memory, each time with
smaller partitions; drivers get nothing if the controller or the reader is older.
``crowded`` names the namespaces that may soon take no new tasks: nobody would lift a new task's
run, so its pods get no first size. Older readers do not read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec
import orjson

from plimsoll_predictor.core.documents import Count

FEED_PATH: Final = "/v1/feed"
VERSION: Final = 2
"""The version of the messages that a reader understands; in version 1 tasks carry models."""


class Reader(StrEnum):
    """The kind of reader. An older admission does not send it."""

    ADMISSION = "admission"
    EXTENDER = "extender"
    """It sizes no pods: its presence says nothing about admission."""


class ChangeKind(StrEnum):
    """The subject of a change."""

    MODEL = "models"
    """A task's model, by the task's name."""
    TASK = "tasks"
    NAMESPACE = "namespaces"
    DEFAULTS = "defaults"
    ITEM = "items"
    """The needs for an item of a workflow; they are never removed."""
    PAIRS = "pairs"
    """What tasks cost each other on a node; one entry, without a name."""
    HOST = "hosts"
    """What runs on a node that takes pods, by the node's host name."""
    LOAD = "loads"
    """What actual use leaves of a node, by the same name."""
    ORDER = "orders"
    """The tasks whose new pods may wait for their turn; one entry, without a name."""
    CHUNKS = "chunks"
    """What chunks of a task's Jobs took, by the task's name."""
    LEASED = "leased"
    """What leases of a task's Jobs took, by the task's name."""
    SMALLER = "smaller"
    """How much smaller an application's partitions become, by the task of its executors."""
    CROWDED = "crowded"
    """The namespaces that may soon take no new tasks; one entry, without a name."""


@dataclass(frozen=True, slots=True)
class FeedChange:
    """The newest state of one key. data: its JSON; None if it was removed."""

    kind: ChangeKind
    name: str
    revision: int
    data: bytes | None


class Removed(msgspec.Struct, frozen=True):
    """The names of what was removed."""

    tasks: Sequence[str]
    namespaces: Sequence[str]
    models: Sequence[str] = ()
    hosts: Sequence[str] = ()
    pairs: Sequence[str] = ()
    loads: Sequence[str] = ()
    orders: Sequence[str] = ()
    chunks: Sequence[str] = ()
    leased: Sequence[str] = ()
    smaller: Sequence[str] = ()
    crowded: Sequence[str] = ()

    def names(self, kind: ChangeKind) -> Sequence[str]:
        """Return what was removed of a kind; nothing of a kind that is never removed."""
        names: Sequence[str] = getattr(self, kind.value, ())
        return names


class FeedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the feed, its entries still plain JSON."""

    epoch: str
    revision: Count
    head: Count
    full: bool
    defaults: dict[str, Any] | None
    namespaces: dict[str, Any]
    tasks: dict[str, Any]
    removed: Removed
    items: dict[str, Any] = {}  # an older controller has none
    models: dict[str, Any] = {}
    hosts: dict[str, Any] = {}
    pairs: dict[str, Any] = {}
    loads: dict[str, Any] = {}
    orders: dict[str, Any] = {}
    chunks: dict[str, Any] = {}
    leased: dict[str, Any] = {}
    smaller: dict[str, Any] = {}
    crowded: dict[str, Any] = {}

    def given(self, kind: ChangeKind) -> Mapping[str, Any]:
        """Return the news of a kind that has names, by them."""
        news: Mapping[str, Any] = getattr(self, kind.value)
        return news


class BadMessage(ValueError):
    """Not a message of this feed; the state stays, and the question is asked again."""


def encode_message(
    *, epoch: str, revision: int, head: int, full: bool, changes: Sequence[FeedChange]
) -> bytes:
    """JSON of one message. The entries are JSON already and are inserted as they are."""
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
            # Older readers understand a message without models.
            body.setdefault(change.kind.value, {})[change.name] = orjson.Fragment(change.data)
    return orjson.dumps(body)


def decode_message(text: bytes) -> FeedMessage:
    """Inverse of ``encode_message`` for the frame; the entries are checked one by one later.

    Raises:
        BadMessage: if the frame is not the feed's.
    """
    try:
        message = msgspec.json.decode(text, type=FeedMessage)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the feed answered what is not its message: {error!s:.200}") from error
    if message.revision > message.head:
        raise BadMessage(f"the feed's revision {message.revision} is not within 0..{message.head}")
    return message
