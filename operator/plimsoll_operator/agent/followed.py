"""One container that may be rescued: its readings, and how long it has left.

Nearly all readings of nearly all containers bring nothing new. These cost next to nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll_operator.agent.cgroup_memory import CgroupFiles, CgroupSample
from plimsoll_operator.agent.need import held_bytes
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.growth import WINDOWS_S, Outlook, Readings

MOVED_BYTES: Final = MIB // 4
"""A smaller change of memory is nothing new."""
EDGE_BYTES: Final = 2 * MIB
EDGE_SHARE: Final = 0.01
"""The kernel kills a little before a container's limit: its pod, with the pause container in it,
has the same limit; and memory is charged in batches."""


@dataclass(slots=True)
class Followed:
    """One container. sample: its last reading with anything new; held_bytes: of that reading.

    usage_bytes: at the last full reading, page cache included.
    ticked: the reading of the last tick; the sampler keeps it while the container is at rest.
    still_s: until when it has not moved since; None if that reading was the last.
    """

    files: CgroupFiles
    sample: CgroupSample
    began_s: float
    limit_bytes: int
    readings: Readings = field(default_factory=Readings)
    outlook: Outlook = field(default_factory=Outlook)
    held_bytes: int = 0
    usage_bytes: int = 0
    ticked: CgroupSample | None = None
    still_s: float | None = None
    alarmed_s: float | None = None
    alarms: int = 0
    _is_still: bool = False

    @property
    def edge_bytes(self) -> int:
        """Where the kernel begins to kill."""
        return self.limit_bytes - max(EDGE_BYTES, int(EDGE_SHARE * self.limit_bytes))

    def advance(self, sample: CgroupSample, now_s: float) -> None:
        """Take one more reading."""
        now_bytes = held_bytes(sample)
        moved = abs(now_bytes - self.held_bytes) >= MOVED_BYTES or self.readings.latest is None
        if not moved and self._is_still:
            self.still_s = now_s
            if self.outlook.growth_bytes_s:
                self.outlook = replace(self.outlook, growth_bytes_s=0.0)
            return
        if self.still_s is not None:
            self.readings.add(self.still_s, self.held_bytes, self.limit_bytes)
        self._is_still, self.still_s = not moved, None
        self.sample, self.held_bytes = sample, now_bytes
        self.readings.add(now_s, now_bytes, self.limit_bytes)
        self.outlook = self.readings.outlook()

    def seconds_left(self) -> float | None:
        """Return the seconds to its edge; 0 if another step reaches it; None if nothing will."""
        if self.outlook.steps_over(self.held_bytes, self.edge_bytes):
            return 0.0
        return self.outlook.to_limit_s(self.held_bytes, self.edge_bytes)

    def may_rise(self, now_s: float) -> bool:
        """Say whether it rises, is about to step over its edge, or is hardly known."""
        young = now_s - self.began_s < WINDOWS_S[-1]
        outlook = self.outlook
        stepping = outlook.steps_over(self.held_bytes, self.edge_bytes)
        return young or stepping or outlook.growth_bytes_s > 0

    def coming_bytes(self, now_s: float, within_s: float) -> float:
        """Return what it may hold that many seconds later.

        One that has been followed only for a moment may have grown to its present size just now.
        """
        young = now_s - self.began_s < WINDOWS_S[-1]
        pace = self.outlook.growth_bytes_s or (self.held_bytes if young else 0.0)
        return self.held_bytes + pace * within_s
