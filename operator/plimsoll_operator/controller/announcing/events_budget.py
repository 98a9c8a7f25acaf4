"""Limits Events to what people can read. This is pure; the clock is an argument.

Every Event is an object in the API server's database. A task that is killed a thousand times, or a
namespace that makes a thousand tasks, must not fill it: each object, each reason of a task, and the
cluster has a bucket of tokens that refills with time. An Event takes one token from each; if a
bucket is empty, it is not sent.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

MOST_BUCKETS: Final = 20_000
"""Objects and tasks whose buckets are remembered; a forgotten bucket is full again."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """burst: how many Events may come at once. per_minute: how many tokens come back."""

    burst: int
    per_minute: float


OF_AN_OBJECT: Final = Allowance(burst=20, per_minute=5)
OF_A_TASK: Final = Allowance(burst=300, per_minute=60)
"""Each pod of a batch of a few hundred gets its Event; the pods of a flood do not."""
OF_THE_CLUSTER: Final = Allowance(burst=5000, per_minute=1200)


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_s: float


class EventsBudget:
    """Says for each Event whether it may be sent."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[tuple[str, str], _Bucket] = OrderedDict()

    def takes(self, uid: str, share: str | None, now_s: float) -> bool:
        """Say whether an Event about an object may be sent; if so, count it.

        uid: the object's. share: its task and the Event's reason; None if there is no task.
        now_s: seconds of a clock that does not jump.
        """
        wanted = [(("cluster", ""), OF_THE_CLUSTER), (("object", uid), OF_AN_OBJECT)]
        if share is not None:
            wanted.append((("task", share), OF_A_TASK))
        buckets = [self._bucket(key, allowance, now_s) for key, allowance in wanted]
        if any(bucket.tokens < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.tokens -= 1
        return True

    def _bucket(self, key: tuple[str, str], allowance: Allowance, now_s: float) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(allowance.burst, now_s)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        back = max(0.0, now_s - bucket.filled_s) * allowance.per_minute / 60
        bucket.tokens = min(float(allowance.burst), bucket.tokens + back)
        bucket.filled_s = max(now_s, bucket.filled_s)
        return bucket
