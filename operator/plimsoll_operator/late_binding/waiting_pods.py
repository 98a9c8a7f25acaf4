"""Indexes the pods that wait for a node by their task, bounded and O(1) per event. Pure.

A pod is held as one to two kilobytes of JSON, without the fields that no decision reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from plimsoll_operator.late_binding.resizing import Place, place_of, was_passed_over
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod, mapping, metadata_of, sequence, spec_of
from plimsoll_predictor.core.shares import Shares
from plimsoll_predictor.core.task import TaskId

MAX_BYTES: Final = 64 * 2**20
"""The memory of the index, enough for 40,000 pods. When it is full, new pods keep their size. If
their namespace holds less than others, older pods of the one that holds most keep theirs."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_UNREAD_META: Final = frozenset({"managedFields"})
_UNREAD_SPEC: Final = frozenset({"volumes", "topologySpreadConstraints"})
_UNREAD_CONTAINER: Final = frozenset(
    {"volumeMounts", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "ports"}
)


@dataclass(slots=True)
class _WaitingPod:
    task: TaskId
    document: bytes
    passed_over: bool


class WaitingPods:
    """The waiting pods by UID and by task."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._room = Shares[str](max_bytes)
        self._pods: dict[str, _WaitingPod] = {}
        self._of_task: dict[TaskId, dict[str, None]] = {}
        self.turned_away = 0
        """The number of pods for which the index had no room."""

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def held_bytes(self) -> int:
        """The bytes of all pods that are held."""
        return self._room.total

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def see(self, pod: Pod, *, gone: bool = False) -> bool:
        """Note one event of a pod. True if it should be decided: it is new, or newly passed over.

        gone: whether the pod was deleted.
        """
        uid = str(metadata_of(pod).get("uid"))
        before = self._take_out(uid)
        identity = identify(pod)
        if gone or identity is None or place_of(pod) is not Place.WAITING:
            return False
        document = _document_of(pod)
        if document is None:
            return False
        waiting = _WaitingPod(identity.task, document, was_passed_over(pod))
        owner, size_bytes = waiting.task.namespace, len(waiting.document)
        if self._room.would_lose(owner, size_bytes):
            self.turned_away += before is None
            return False
        self._pods[uid] = waiting
        self._of_task.setdefault(waiting.task, {})[uid] = None
        for other in self._room.use(owner, uid, size_bytes):
            self.turned_away += 1
            self._take_out(other)
        return before is None or waiting.passed_over > before.passed_over

    def get(self, uid: str) -> Pod | None:
        """Return a pod without the fields that no decision reads; None if it does not wait."""
        waiting = self._pods.get(uid)
        return None if waiting is None else mapping(orjson.loads(waiting.document))

    def drop(self, uid: str) -> None:
        """Forget a pod that does not wait any more."""
        self._take_out(uid)

    def of_task(self, task: TaskId) -> list[str]:
        """Return the UIDs of a task's waiting pods, in the order of their last events."""
        return list(self._of_task.get(task, ()))

    def has(self, task: TaskId) -> bool:
        """Say whether any pod of the task waits."""
        return task in self._of_task

    def tasks(self) -> list[TaskId]:
        """Return all tasks that have waiting pods."""
        return list(self._of_task)

    def _take_out(self, uid: str) -> _WaitingPod | None:
        waiting = self._pods.pop(uid, None)
        if waiting is None:
            return None
        self._room.drop(waiting.task.namespace, uid)
        uids = self._of_task[waiting.task]
        del uids[uid]
        if not uids:
            del self._of_task[waiting.task]
        return waiting


def _document_of(pod: Pod) -> bytes | None:
    """Return what is held of the pod; None if JSON cannot hold it, such as half a character."""
    try:
        text = orjson.dumps(_read_parts(pod))
    except TypeError:
        return None
    # orjson's own bytes take some 4 KB, even if the text is short.
    return bytes(memoryview(text))


def _read_parts(pod: Pod) -> dict[str, Any]:
    meta = _without(metadata_of(pod), _UNREAD_META)
    if _APPLIED in mapping(meta.get("annotations")):
        meta["annotations"] = _without(mapping(meta["annotations"]), frozenset({_APPLIED}))
    spec = _without(spec_of(pod), _UNREAD_SPEC)
    for kind in ("containers", "initContainers"):
        if kind in spec:
            spec[kind] = [_without(mapping(c), _UNREAD_CONTAINER) for c in sequence(spec[kind])]
    status = mapping(pod.get("status"))
    return {
        "metadata": meta,
        "spec": spec,
        "status": {key: status[key] for key in ("phase", "conditions") if key in status},
    }


def _without(document: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}
