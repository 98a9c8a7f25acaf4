"""An agent's alarm: a running container nears its memory limit, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from plimsoll_operator.attempts.peaks import Id, Memory, Seconds

ALARMS_PATH: Final = "/v1/alarms"
"""The path on which the controller takes alarms: an ``Alarms``.

It answers with an ``AlarmsAnswered``.
"""
MOST_ALARMS: Final = 100
MOST_SHAPE: Final = 20

Pace: TypeAlias = Annotated[float, Meta(ge=0, le=2**50)]
Steps: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One container that will soon reach its limit, as far as its readings show.

    used_bytes: what cannot be reclaimed, now. anon_bytes, file_bytes: for people.
    growth_bytes_s: its pace. step_bytes, steps: its latest step's height, and how many there were.
    react_s: how long a raise takes on this node, from an alarm to the kernel's new limit.
    shape: its life in a few points: seconds since it was first read, and bytes used.
    """

    pod_uid: Id
    container_id: Id
    used_bytes: Memory
    anon_bytes: Memory
    file_bytes: Memory
    limit_bytes: Memory
    growth_bytes_s: Pace
    step_bytes: Memory
    steps: Steps
    react_s: Seconds
    shape: Annotated[tuple[tuple[Seconds, Memory], ...], Meta(max_length=MOST_SHAPE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """What one agent sends at once.

    pods_used_bytes: what all pods of the node use, without page cache that nobody reads.
    """

    node: Annotated[str, Meta(min_length=1, max_length=253)]
    pods_used_bytes: Memory
    alarms: Annotated[tuple[Alarm, ...], Meta(min_length=1, max_length=MOST_ALARMS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsAnswered:
    """The controller's answer. raised: the pods whose limits are being raised."""

    raised: Annotated[tuple[Id, ...], Meta(max_length=MOST_ALARMS)] = ()
