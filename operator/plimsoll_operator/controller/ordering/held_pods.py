"""Holds the pods, and the Jobs, that wait for their turn, as they were seen last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from plimsoll_operator.kube.api_server import CORE, path_of
from plimsoll_operator.names.labels import HELD
from plimsoll_operator.ordering.asks import asked_by
from plimsoll_operator.ordering.gate import gates_of, is_held
from plimsoll_operator.ordering.holding import is_grouped
from plimsoll_operator.ordering.longest_wait import most_wait_s
from plimsoll_operator.ordering.pending import priority_of
from plimsoll_operator.ordering.queue import Waiter, in_order
from plimsoll_operator.ordering.suspended_jobs import KIND
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of, metadata_of, spec_of
from plimsoll_operator.pods.status import has_final_phase, read_time

_KEPT = ("kind", "podsAtOnce", "podsInAll")
_KEPT_META = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")
_KEPT_SPEC = ("schedulingGates", "affinity")


@dataclass(slots=True)
class HeldPods:
    """The pods by their UIDs. A Job has a stand-in (``suspended_jobs``)."""

    _pods: dict[str, Pod] = field(default_factory=dict)
    _waiters: dict[str, Waiter] = field(default_factory=dict)
    _overtaken: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._pods)

    def see(self, pod: Pod, *, gone: bool) -> bool:
        """Note a pod as it is. Return whether it waits and was not known to wait.

        gone: it is not seen any more. Somebody may have removed its label: the watch would not
        report it again, so a pod that waits then is released at once.
        """
        uid = str(metadata_of(pod).get("uid"))
        if not is_held(pod) or has_final_phase(pod) or metadata_of(pod).get("deletionTimestamp"):
            self.drop(uid)
            return False
        new = uid not in self._pods and not gone
        self._pods[uid], self._waiters[uid] = _kept(pod), _waiter(uid, pod)
        if gone:
            self._waiters[uid] = replace(self._waiters[uid], alone=False)
        return new

    def get(self, uid: str) -> Pod | None:
        """Return the parts of a pod that a release reads; None if it does not wait."""
        return self._pods.get(uid)

    def drop(self, uid: str) -> None:
        """Forget a pod that no longer waits."""
        self._pods.pop(uid, None)
        self._waiters.pop(uid, None)
        self._overtaken.pop(uid, None)

    def overtake(self, uids: Iterable[str]) -> None:
        """Count that each of them was overtaken once more."""
        self._overtaken.update(uids)

    def take_back(self, uids: Iterable[str]) -> None:
        """Count that each of them was overtaken once less: the pod before it did not go."""
        for uid in uids:
            if self._overtaken[uid]:
                self._overtaken[uid] -= 1

    def queue(self, orders: Callable[[str], bool]) -> list[Waiter]:
        """Return all that wait, in the order of creation. orders: whether a task is ordered."""
        return in_order(
            replace(waiter, overtaken=self._overtaken[uid], ordered=orders(waiter.task))
            for uid, waiter in self._waiters.items()
        )


def _waiter(uid: str, pod: Pod) -> Waiter:
    identity = identify(pod)
    return Waiter(
        uid=uid,
        task="" if identity is None else str(identity.task),
        created_s=read_time(metadata_of(pod).get("creationTimestamp")) or 0.0,
        priority=priority_of(pod),
        asked=asked_by(pod),
        most_s=most_wait_s(pod),
        alone=len(gates_of(pod)) == 1 and not is_grouped(pod),
        ordered=True,
        pods=pods_of(pod),
        ranked=not is_job(pod) or spec_of(pod).get("priority") is not None,
    )


def is_job(pod: Pod) -> bool:
    """Say whether it stands in for a Job."""
    return pod.get("kind") == KIND


def path_of_pod(pod: Pod) -> str:
    """Return the path of a pod."""
    meta = metadata_of(pod)
    return path_of(CORE, "pods", str(meta.get("namespace")), str(meta.get("name")))


def pods_of(pod: Pod) -> int:
    """Return how many pods start when it is released."""
    return max(1, int(pod.get("podsAtOnce", 1))) if is_job(pod) else 1


def is_one(pod: Pod) -> bool:
    """Say whether it is a pod, or a Job that makes one pod in all."""
    return pod.get("podsInAll") in (None, 1)


def _kept(pod: Pod) -> Pod:
    meta, spec, note = metadata_of(pod), spec_of(pod), annotations_of(pod).get(HELD)
    return {
        **{key: pod[key] for key in _KEPT if key in pod},
        "metadata": {
            **{key: meta[key] for key in _KEPT_META if key in meta},
            "labels": dict(labels_of(pod)),
            "annotations": {} if note is None else {HELD: note},
        },
        "spec": {key: spec[key] for key in _KEPT_SPEC if key in spec},
    }
