"""Watches running containers that near their limit, ten times a second, and raises the alarm.

Only pods that the controller says may be rescued are followed. Of these, only containers above a
mark, or soon above it, are read between two ticks. A look at an unchanged one reads one small file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Final

from plimsoll_operator.agent.cgroup_memory import (
    CgroupFiles,
    CgroupSample,
    Read,
    Text,
    glance_v1,
    glance_v2,
    kernel_text,
    read_v1,
    read_v2,
    usage_v1,
    usage_v2,
)
from plimsoll_operator.agent.followed import MOVED_BYTES, Followed
from plimsoll_operator.agent.outbox import Key
from plimsoll_operator.agent.pod_cgroups import PodCgroup, Version
from plimsoll_operator.attempts.alarms import Alarm

FAST_S: Final = 0.1
MARK: Final = 0.4
"""From this share of its limit on, a container is read between two ticks."""
NEXT_TICKS_S: Final = 1.5
"""So is a container that will, at its pace, get there before the next tick has been read."""
MOST_FAST: Final = 32
"""Containers read between two ticks; those nearest to their limit first."""
AHEAD_S: Final = 0.5
"""An alarm comes this long before it would be too late."""
AGAIN_S: Final = 0.3
"""Between two alarms about one limit."""
MOST_AT_ONE_LIMIT: Final = 30
"""An alarm is repeated while it holds: the controller may know of too little room, or of none. Not
for ever, because it may be refused."""
LEAST_REACT_S: Final = 0.5
MOST_REACT_S: Final = 3.0
"""The time that a raise is expected to take before there was one: a busy node took that long."""
REACTS_KEPT: Final = 8
"""A raise is expected to take as long as the longest of the latest ones: a kubelet takes anything
from some tenths of a second to two seconds."""


class NearLimit:
    """Follows the containers of pods that may be rescued. Belongs to the sampling thread."""

    def __init__(
        self,
        version: Version,
        sampled: Callable[[Key], CgroupSample | None],
        monotonic_s: Callable[[], float],
        text: Text = kernel_text,
    ) -> None:
        """sampled: the last reading of a cgroup at a tick; None before the first.

        text: reads the files that are looked at again and again.
        """
        v1 = version is Version.V1
        self._usage = usage_v1 if v1 else usage_v2
        self._glance = glance_v1 if v1 else glance_v2
        self._read: Read = read_v1 if v1 else read_v2
        self._text = text
        self._sampled = sampled
        self._now_s = monotonic_s
        self._followed: dict[Key, Followed] = {}
        self._fast: list[Key] = []
        self._reacts_s: deque[float] = deque(maxlen=REACTS_KEPT)
        self._raised_s: dict[str, float] = {}
        """Pod UID -> when the alarm was sent that led to its raise."""
        self.looks = 0
        self.readings = 0
        """Looks at one container between two ticks so far; full readings among them."""

    @property
    def watches(self) -> bool:
        """Say whether anything is to be read before the next tick."""
        return bool(self._fast)

    @property
    def followed(self) -> int:
        """How many containers are followed."""
        return len(self._followed)

    @property
    def rising(self) -> tuple[str, ...]:
        """Return the watched pods that may grow on, nearest to their limit first. Once a tick."""
        now_s = self._now_s()
        followed = ((key[0], self._followed.get(key)) for key in self._fast)
        return tuple(dict.fromkeys(uid for uid, each in followed if each and each.may_rise(now_s)))

    @property
    def react_s(self) -> float:
        """How long a raise takes, from an alarm to the kernel's new limit."""
        if not self._reacts_s:
            return MOST_REACT_S
        return min(MOST_REACT_S, max(LEAST_REACT_S, *self._reacts_s))

    def raised(self, pod_uids: Iterable[str], asked_s: float) -> None:
        """Note that the controller raises these pods, after an alarm of ``asked_s``. Any thread."""
        for uid in pod_uids:
            self._raised_s.setdefault(uid, asked_s)

    def tick(self, pods: Iterable[PodCgroup], rescuable: Collection[str]) -> list[Alarm]:
        """Take the readings of a tick, and choose the pods to watch until the next."""
        alive: dict[Key, CgroupFiles] = {}
        for pod in pods:
            if pod.uid in rescuable:
                alive.update({(pod.uid, each): files for each, files in pod.containers.items()})
        self._followed = {key: each for key, each in self._followed.items() if key in alive}
        for uid in tuple(self._raised_s):
            if uid not in rescuable:
                self._raised_s.pop(uid, None)
        now_s, alarms = self._now_s(), []
        for key, files in alive.items():
            sample = self._sampled(key)
            if sample is None or sample.limit_bytes is None:
                self._followed.pop(key, None)
                continue
            followed = self._followed.get(key)
            if followed is None:
                followed = Followed(files, sample, now_s, sample.limit_bytes)
                self._followed[key] = followed
            # A resize moves no memory, so the sampler may not have read the limit for some ticks.
            # Then a look between two ticks may have read a newer one.
            is_new = sample is not followed.ticked
            limit_bytes = sample.limit_bytes if is_new else followed.limit_bytes
            followed.ticked, followed.usage_bytes = sample, sample.usage_bytes
            alarms += self._advance(key, followed, sample, limit_bytes, now_s)
        self._fast = self._nearest(now_s)
        return alarms

    def look(self) -> list[Alarm]:
        """Read the watched containers once more."""
        now_s, alarms = self._now_s(), []
        for key in self._fast:
            followed = self._followed.get(key)
            if followed is None:
                continue
            self.looks += 1
            try:
                usage_bytes = self._usage(followed.files, self._text)
                sample, limit_bytes = followed.sample, followed.limit_bytes
                moved = abs(usage_bytes - followed.usage_bytes) >= MOVED_BYTES
                # After an alarm it is read in full, to see a new limit as soon as it is there.
                if moved or followed.alarmed_s is not None:
                    followed.usage_bytes = usage_bytes
                    self.readings += 1
                    glance = self._glance(followed.files, self._text)
                    sample = self._read(followed.files, glance)
                    limit_bytes = sample.limit_bytes or followed.limit_bytes
            except OSError:
                self._followed.pop(key)  # it ended
                continue
            alarms += self._advance(key, followed, sample, limit_bytes, now_s)
        return alarms

    def _advance(
        self, key: Key, followed: Followed, sample: CgroupSample, limit_bytes: int, now_s: float
    ) -> list[Alarm]:
        """Take one more reading. limit_bytes: the limit that was read last, maybe after it."""
        if limit_bytes != followed.limit_bytes:
            self._take_new_limit(key[0], followed, limit_bytes, now_s)
        followed.advance(sample, now_s)
        left_s = followed.seconds_left()
        soon = left_s is not None and left_s <= self.react_s + AHEAD_S
        if not soon or not self._may_alarm(followed, now_s):
            return []
        followed.alarms += 1
        if followed.alarmed_s is None:
            followed.alarmed_s = now_s
        return [self._alarm(key, followed)]

    def _take_new_limit(
        self, pod_uid: str, followed: Followed, limit_bytes: int, now_s: float
    ) -> None:
        """Start anew at another limit. If an alarm raised it, learn how long that took."""
        asked_s = self._raised_s.pop(pod_uid, None)
        if asked_s is not None and limit_bytes > followed.limit_bytes:
            self._reacts_s.append(now_s - asked_s)
        followed.limit_bytes = limit_bytes
        followed.alarmed_s, followed.alarms = None, 0

    def _may_alarm(self, followed: Followed, now_s: float) -> bool:
        if followed.alarmed_s is None:
            return True
        due_s = followed.alarmed_s + AGAIN_S * followed.alarms
        return followed.alarms < MOST_AT_ONE_LIMIT and now_s >= due_s

    def _nearest(self, now_s: float) -> list[Key]:
        near: list[tuple[float, Key]] = []
        for key, followed in self._followed.items():
            share = followed.coming_bytes(now_s, NEXT_TICKS_S) / followed.limit_bytes
            stepping = followed.outlook.steps_over(followed.held_bytes, followed.edge_bytes)
            if share >= MARK or stepping or followed.alarmed_s is not None:
                near.append((share, key))
        near.sort(key=lambda pair: pair[0], reverse=True)
        return [key for _, key in near[:MOST_FAST]]

    def _alarm(self, key: Key, followed: Followed) -> Alarm:
        sample, outlook = followed.sample, followed.outlook
        began_s = followed.began_s
        return Alarm(
            pod_uid=key[0],
            container_id=key[1] or "",
            used_bytes=followed.held_bytes,
            anon_bytes=sample.anon_bytes,
            file_bytes=sample.file_bytes,
            limit_bytes=followed.limit_bytes,
            growth_bytes_s=round(outlook.growth_bytes_s, 1),
            step_bytes=outlook.step_bytes,
            steps=outlook.steps,
            react_s=round(self.react_s, 3),
            shape=tuple(
                (round(max(0.0, at_s - began_s), 2), used) for at_s, used in followed.readings.shape
            ),
        )
