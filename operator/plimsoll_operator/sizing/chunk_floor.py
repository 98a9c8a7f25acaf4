"""The floor of a pod whose chunk, or largest lease, was chosen when its Job was created."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from plimsoll_operator.names.labels import CHUNK_MEMORY
from plimsoll_operator.pods.spec import Pod, annotations_of, whole_number
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.splitting.peaks import MOST_BYTES

AS_WRITTEN: Final = str(MOST_BYTES)
"""The annotation of a pod whose chunk is larger than any that succeeded: what it needs is unknown.

An older admission reads it as a floor at what was written.
"""


def with_chunk_floor(pod: Pod, was: Memory, knowledge: Knowledge) -> Knowledge:
    """Return what is known of the task, with a floor that holds this pod's chunk.

    was: the pod's memory as its author wrote it; the floor is not above it. A higher floor of the
    task stays. If the policy keeps limits, the limit already holds the chunk.
    """
    needed = whole_number(annotations_of(pod).get(CHUNK_MEMORY), MOST_BYTES)
    if needed is None or needed == MOST_BYTES or knowledge.policy.limits is Limits.KEEP:
        return knowledge
    least = min(needed, max(was.request_bytes or 0, was.limit_bytes or 0))
    floor = knowledge.floor
    if floor is not None and (floor.size_bytes is None or floor.size_bytes >= least):
        return knowledge
    return replace(knowledge, floor=Floor(least, FloorKind.CHUNK))


def why_chunk_holds(pod: Pod) -> str | None:
    """Say why no memory is taken from a pod whose chunk is larger than any that succeeded.

    Its run may be lifted after a kill, as others are: Plimsoll gave it the chunk.
    """
    if annotations_of(pod).get(CHUNK_MEMORY) != AS_WRITTEN:
        return None
    return "its chunk is larger than any that succeeded"
