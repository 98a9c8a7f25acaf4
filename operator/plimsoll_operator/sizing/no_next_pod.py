"""Says for which pods the next attempt may never come, though somebody would make it.

Such a run might wait for ever, though it would have succeeded as its author wrote it. So it is not
lowered.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.pods.creation import author_chose_node, is_put_on_a_node
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import sequence, spec_of
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.read_pod import ReadPod

_WAITS_FOR_THE_POD: Final = frozenset({Retrier.PLIMSOLL, Retrier.MAKER, Retrier.OWNER})
"""Those that make the next attempt only when all containers have ended. Engines watch the container
that works, and for other makers Plimsoll deletes the pod (``attempts/held_up.py``)."""


def why_none_may_follow(read: ReadPod, namespace: NamespaceBounds) -> str | None:
    """Return the reason in words; None if the next attempt surely comes. namespace: the pod's."""
    several = len(sequence(spec_of(read.body).get("containers"))) > 1
    if several and read.identity.retrier in _WAITS_FOR_THE_POD:
        return "its other containers may wait for it when it is killed, and its pod never ends"
    if namespace.counts_ended:
        return "a quota counts pods that have ended (count/pods), and may have none left for a next"
    if is_put_on_a_node(read.body) or author_chose_node(read.body):
        # Others may have what it left free by then, and the kubelet refuses a pod without room.
        return "its author names its node, and without a scheduler no larger attempt waits for room"
    return None
