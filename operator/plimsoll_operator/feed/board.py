"""The controller's side of the feed: the newest state of each key, in the order of its changes.

A reader that has seen revision N gets what changed after it, O(changed). A reader from another
epoch (the controller restarted), or from before the oldest remembered removal, gets everything.
Messages are cut at a size; a reader asks again until it has reached ``head``.

The content is bounded in bytes, whatever it is: each change, all models, all items. If
namespaces share a room, the one that has most of it makes place.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson
import structlog

from plimsoll_operator.feed.item_keys import ItemKey
from plimsoll_operator.feed.wire import VERSION, ChangeKind, FeedChange, Reader, encode_message
from plimsoll_operator.pods.autoscalers import Autoscaler
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from plimsoll_predictor.core.item_needs import MOST_EARLIER, MOST_ITEMS, owner_of
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.shares import Shares
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.loads import NodeLoad
from plimsoll_predictor.splitting.chunk_runs import Learned

MAX_MESSAGE_BYTES: Final = 2**20
"""A reader decodes a message at once, between two pods that it answers: so messages are small."""
MAX_CHANGE_BYTES: Final = MAX_MESSAGE_BYTES
"""A larger change is not sent, but counted: a reader could not take it in one piece."""
MAX_MODELS_BYTES: Final = 80 * 2**20
"""All models, as JSON; a thousand of the usual size. Admission holds them twice while it reads a
new leader's feed; the controller holds the same models, and no others. A task whose model has no
room is sized by the experts that need none."""
MAX_REMOVALS: Final = 10_000
"""Removals remembered; a reader that missed more starts over."""

MAX_ITEMS: Final = MOST_ITEMS + MOST_EARLIER
"""A reader keeps as many. The items that changed longest ago are forgotten without a message."""
MAX_ITEMS_BYTES: Final = 16 * 2**20
_ITEM_BYTES: Final = MAX_ITEMS_BYTES // MAX_ITEMS
"""An item's part of the room; smaller items take as much."""

log = structlog.get_logger()

_SHOWN_CHARS: Final = 128
_LONGEST_EPOCH: Final = 128

_Key = tuple[ChangeKind, str]


class FeedBoard:
    """Holds what admission has to know. All methods belong to one event loop."""

    def __init__(
        self,
        epoch: str,
        *,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        max_models_bytes: int = MAX_MODELS_BYTES,
    ) -> None:
        """epoch: differs for every board ever made, such as a UUID; it has no slash."""
        self.epoch = epoch
        self.revision = 0
        self._reading = Counter[Reader]()
        """Questions that wait for news at this moment, by reader."""
        self.untold = Counter(dict.fromkeys((kind.value for kind in ChangeKind), 0))
        """How many changes were too large, or lost their room to others, by kind."""
        self._max_message_bytes = max_message_bytes
        # Both in the order of their revisions.
        self._entries: dict[_Key, FeedChange] = {}
        self._removals: dict[_Key, FeedChange] = {}
        self._items = Shares[str](MAX_ITEMS * _ITEM_BYTES)
        self._model_room = Shares[str](max_models_bytes)
        self._models: dict[str, Model] = {}  # as last encoded
        self._forgotten_revision = 0
        self._changed = asyncio.Event()

    def publish(self, knowledge: Knowledge) -> list[TaskId]:
        """Tell all replicas what is known about a task now; nothing is sent if nothing changed.

        Return the tasks, maybe this one, whose models lost their room: no replica has them now.
        """
        name = str(knowledge.task)
        # The model first, so that a reader has it before the task that uses it.
        without_room = self._publish_model(name, knowledge.model)
        document = replace(knowledge, model=None).to_dict()
        del document["model"]
        self._put((ChangeKind.TASK, name), document)
        return [TaskId.parse(each) for each in without_room]

    def remove(self, task: TaskId) -> None:
        """Forget a task, with its model."""
        self._drop((ChangeKind.TASK, str(task)))
        # The model's removal is its own change: the task may return before a reader asks.
        self._publish_model(str(task), None)

    def set_item(self, key: ItemKey, needs: Mapping[str, float]) -> None:
        """Publish the needs for an item of a workflow. needs: task -> bytes, the latest last."""
        name = key.text()
        told_bytes = self._put((ChangeKind.ITEM, name), {"needs": list(needs.items())})
        weight = max(told_bytes or 0, _ITEM_BYTES)
        for gone in self._items.use(owner_of(key.place), name, weight):
            self._entries.pop((ChangeKind.ITEM, gone), None)

    def set_namespace(
        self,
        namespace: str,
        *,
        policy: Policy | None,
        limit_ranges: Sequence[Mapping[str, Any]],
        quotas: Sequence[Mapping[str, Any]],
        autoscalers: Sequence[Autoscaler] = (),
    ) -> None:
        """Set a namespace's policy for unknown tasks, and what else its sizes depend on.

        limit_ranges, quotas: the objects as the API gives them; only their specs are sent, so that
            the use of a quota, which changes with every pod, makes no message.
        autoscalers: those that change pods; the caller bounds their number.
        """
        if policy is None and not limit_ranges and not quotas and not autoscalers:
            self._drop((ChangeKind.NAMESPACE, namespace))
            return
        data = {
            "policy": policy.to_dict() if policy else None,
            "limit_ranges": [_bare(limit_range) for limit_range in limit_ranges],
            "quotas": [_bare(quota) for quota in quotas],
        }
        if autoscalers:  # hardly any namespace has one
            data["autoscalers"] = [each.to_document() for each in autoscalers]
        self._put((ChangeKind.NAMESPACE, namespace), data)

    def set_pairs(self, costs: Costs | None) -> None:
        """Publish what tasks cost each other on a node; None if that is not to be used."""
        self._set(ChangeKind.PAIRS, "", None if costs is None else costs.to_document())

    def set_host(self, host: str, residents: Sequence[tuple[int, int]] | None) -> None:
        """Publish what runs on a node: places of kinds in ``Costs``, and how many.

        residents: None if the node takes no pods any more. The caller bounds the number of nodes,
        and names one by its label with the host's name.
        """
        self._set(ChangeKind.HOST, host, None if residents is None else {"residents": residents})

    def set_load(self, host: str, load: NodeLoad | None) -> None:
        """Publish what is left of a node; None if unknown. The caller bounds their number."""
        self._set(ChangeKind.LOAD, host, None if load is None else load.to_document())

    def set_ordered(self, tasks: Collection[str] | None, *, jobs: bool = False) -> None:
        """Publish whose new pods may wait for their turn; None while nothing would let them go.

        jobs: whether their Jobs may wait as well. The caller bounds the number of tasks.
        """
        data = {"tasks": sorted(tasks), "jobs": jobs} if tasks else None
        self._set(ChangeKind.ORDER, "", data)

    def set_learned(self, kind: ChangeKind, task: TaskId, learned: Learned | None) -> None:
        """Publish what chunks or leases of a task's Jobs took; None if nothing is known.

        kind: CHUNKS or LEASED. The caller bounds the number of tasks.
        """
        self._set(kind, str(task), None if learned is None else learned.to_document())

    def set_smaller(self, task: TaskId, steps: int) -> None:
        """Publish how often executors were killed with ever smaller partitions; 0 for not at all.

        task: the executors'. The caller bounds their number.
        """
        self._set(ChangeKind.SMALLER, str(task), {"steps": steps} if steps else None)

    def set_crowded(self, namespaces: Collection[str]) -> None:
        """Publish which namespaces may soon take no new tasks, so that none gets a first size."""
        data = {"namespaces": sorted(namespaces)} if namespaces else None
        self._set(ChangeKind.CROWDED, "", data)

    def set_defaults(
        self,
        policy: Policy,
        *,
        nodes: Nodes = NO_NODES,
        paused: bool = False,
        unhealed: str | None = None,
    ) -> None:
        """Set the cluster's policy, whether all of it is paused, and its classes of nodes.

        unhealed: why a run that is killed would not be lifted now; None if it would.
        """
        data = {
            "policy": policy.to_dict(),
            "nodes": nodes.to_document(),
            "paused": paused,
            "unhealed": unhealed,
            # An older reader refuses a message without it: it capped every pod with it.
            "largest_node_bytes": None,
        }
        self._put((ChangeKind.DEFAULTS, ""), data)

    @property
    def readers(self) -> int:
        """Admission's questions that wait for news at this moment."""
        return self._reading[Reader.ADMISSION]

    async def wait(
        self,
        since: int,
        epoch: str | None,
        timeout_s: float,
        *,
        version: int = VERSION,
        reader: Reader = Reader.ADMISSION,
    ) -> bytes:
        """The message of what changed after ``since``, without changes if the time runs out.

        version: of the messages that the reader understands.
        """
        if epoch == self.epoch and since == self.revision:
            changed = self._changed
            self._reading[reader] += 1
            try:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), timeout_s)
            finally:
                self._reading[reader] -= 1
        return self.message(since, epoch, version=version)

    def message(self, since: int, epoch: str | None, *, version: int = VERSION) -> bytes:
        """Return the same message as ``wait``, at once."""
        full = not self._can_follow(since, epoch)
        changes = self._changes_after(0 if full else since)
        sent: Iterable[FeedChange] = changes
        if version < VERSION:
            changes = self._as_tasks(changes)
            sent = map(self._with_model, changes)
        fitting = self._fitting(sent)
        complete = len(fitting) == len(changes)
        return encode_message(
            epoch=self.epoch if complete else self._epoch_of_part(epoch, full),
            revision=self.revision if complete else fitting[-1].revision,
            head=self.revision,
            full=full,
            changes=fitting,
        )

    def _can_follow(self, since: int, epoch: str | None) -> bool:
        """Say whether a reader at ``since`` can still get all that was removed after it."""
        own, _, began = (epoch or "")[:_LONGEST_EPOCH].partition("/")
        if own != self.epoch or not 0 <= since <= self.revision:
            return False
        # A reader that began from nothing and is not at the end never had what was removed before.
        follows_from = max(since, int(began)) if began.isdecimal() else since
        return follows_from >= self._forgotten_revision

    def _epoch_of_part(self, asked: str | None, full: bool) -> str:
        """Return the epoch in a message that is cut; the reader sends it back with its question.

        It says where a full answer began, and stays the same until its last part.
        """
        return f"{self.epoch}/{self.revision}" if full else str(asked)

    def _publish_model(self, name: str, model: Model | None) -> list[str]:
        """Encode the model only if it differs from the last one; a model is never changed.

        Return the names of the tasks whose models lost their room.
        """
        if model is self._models.get(name):
            return []
        key = ChangeKind.MODEL, name
        told_bytes = None if model is None else self._put(key, model.to_dict())
        if model is None or told_bytes is None:
            # One that is too large goes, and the one before: the controller has the new one only.
            self._drop_model(name)
            return [] if model is None else [name]
        self._models[name] = model
        without_room = self._model_room.use(owner_of(name), name, told_bytes)
        for gone in without_room:
            self._drop_model(gone)
            self._leave_out(ChangeKind.MODEL, gone, "others have its room")
        return without_room

    def _drop_model(self, name: str) -> None:
        self._models.pop(name, None)
        self._model_room.drop(owner_of(name), name)
        self._drop((ChangeKind.MODEL, name))

    def _set(self, kind: ChangeKind, name: str, value: Mapping[str, Any] | None) -> None:
        """Publish what is known of a subject now; None if nothing is."""
        if value is None:
            self._drop((kind, name))
        else:
            self._put((kind, name), value)

    def _put(self, key: _Key, value: Mapping[str, Any]) -> int | None:
        """Publish a change, and return its bytes; None if it is too large: the one before stays."""
        text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_SORT_KEYS)
        data = bytes(memoryview(text))  # orjson's own bytes hold some 4 KB, however short they are
        before = self._entries.get(key)
        told_bytes = len(key[1]) + len(data)
        if told_bytes > MAX_CHANGE_BYTES:
            self._leave_out(*key, f"it has {told_bytes} bytes, more than {MAX_CHANGE_BYTES}")
            return None
        if before is not None and before.data == data:
            return told_bytes
        self._entries.pop(key, None)
        self._removals.pop(key, None)
        self.revision += 1
        self._entries[key] = FeedChange(*key, self.revision, data)
        self._announce()
        return told_bytes

    def _leave_out(self, kind: ChangeKind, name: str, why: str) -> None:
        self.untold[kind.value] += 1
        log.warning(
            "not published to admission", kind=kind.value, name=name[:_SHOWN_CHARS], why=why
        )

    def _drop(self, key: _Key) -> None:
        if self._entries.pop(key, None) is None:
            return
        self.revision += 1
        self._removals[key] = FeedChange(*key, self.revision, None)
        if len(self._removals) > MAX_REMOVALS:
            oldest = next(iter(self._removals))
            self._forgotten_revision = self._removals.pop(oldest).revision
        self._announce()

    def _announce(self) -> None:
        waiting, self._changed = self._changed, asyncio.Event()
        waiting.set()

    def _changes_after(self, revision: int) -> list[FeedChange]:
        changes = list(_after(revision, self._entries))
        if revision:  # a reader that starts from nothing need not remove any
            changes += _after(revision, self._removals)
        return sorted(changes, key=lambda change: change.revision)

    def _as_tasks(self, changes: Sequence[FeedChange]) -> list[FeedChange]:
        """The changes for readers that know no models: a model's change is one of its task."""
        newest: dict[_Key, FeedChange] = {}
        for change in changes:
            key = change.kind, change.name
            if change.kind is ChangeKind.MODEL:
                key = ChangeKind.TASK, change.name
                if key not in self._entries:
                    continue  # its removal is a change of its own
                change = replace(self._entries[key], revision=change.revision)
            newest.pop(key, None)
            newest[key] = change
        return list(newest.values())

    def _fitting(self, changes: Iterable[FeedChange]) -> list[FeedChange]:
        """Take as many as fit into a message, at least one."""
        total_bytes, fitting = 0, list[FeedChange]()
        for change in changes:
            total_bytes += len(change.name) + len(change.data or b"")
            if fitting and total_bytes > self._max_message_bytes:
                break
            fitting.append(change)
        return fitting

    def _with_model(self, change: FeedChange) -> FeedChange:
        if change.kind is not ChangeKind.TASK or change.data is None:
            return change
        model = self._entries.get((ChangeKind.MODEL, change.name))
        text = b"null" if model is None or model.data is None else model.data
        return replace(change, data=change.data[:-1] + b',"model":' + text + b"}")


def _after(revision: int, changes: dict[_Key, FeedChange]) -> Iterator[FeedChange]:
    """Changes after a revision, newest first; no other is looked at."""
    return itertools.takewhile(
        lambda change: change.revision > revision, reversed(changes.values())
    )


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """A LimitRange's or ResourceQuota's spec: all that bounds are made from."""
    return {"spec": document.get("spec")}
