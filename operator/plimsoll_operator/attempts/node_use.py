"""How much of its node is in use, as an agent sends it to the controller.

It has a path of its own: an older controller refuses a body of peaks with an additional field, and
the agent would drop the reports in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from plimsoll_operator.attempts.peaks import Cores, Id, Memory

NODE_USE_PATH: Final = "/v1/node-use"
"""The path on which the controller takes a ``NodeUse``; it answers with nothing."""
MOST_PODS: Final = 200
LONGEST_WINDOW_S: Final = 600.0

Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Window: TypeAlias = Annotated[float, Meta(gt=0, le=LONGEST_WINDOW_S)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse:
    """The use of one node over the last seconds. It has no time: the node's clock may be wrong.

    over_s: the seconds between two readings. cpu_share: work's share of all its CPU time meanwhile.
        memory_share: of its memory at the end, what is neither free nor reclaimable. Both are None
        if /proc does not say it.
    pods_cores: pod UID -> cores that it used meanwhile, of all pods that used some: the agent does
        not know which of them are tasks.
    pods_bytes: pod UID -> memory that it uses at the end and that cannot be reclaimed, of all pods.
        None from an agent that does not send it.
    """

    node: Annotated[str, Meta(min_length=1, max_length=253)]
    over_s: Window
    cpu_share: Share | None = None
    memory_share: Share | None = None
    pods_cores: Annotated[dict[Id, Cores], Meta(max_length=MOST_PODS)] = field(default_factory=dict)
    pods_bytes: Annotated[dict[Id, Memory], Meta(max_length=MOST_PODS)] | None = None
