"""Keeps an allocation above what is too small to start and below what may not be asked for.

Three things bound a size from above, and only one of them may lower what the user asked for:

- The cap (a LimitRange's maximum): the API server refuses a pod above it.
- The cluster's room (nodes, quotas): it holds back a raise above the request, and nothing else.
- The policy's maximum: Plimsoll sets no size above it. A pod that needs more is left as written.

A size that is held back is below the known need. So it is set only if the pod, as its author wrote
it, could use no more either; else the pod is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB, words_for_bytes


@dataclass(frozen=True, slots=True)
class Clamped:
    """An allocation within bounds; None leaves the pod as its author wrote it.

    note: how it was changed, for people; empty if it was not.
    """

    allocation_bytes: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Hold:
    """One bound of a size from above.

    whose: in words, up to the amount. remedy: what people can do about it.
    """

    at_bytes: int
    whose: str
    remedy: str

    @property
    def words(self) -> str:
        return f"{self.whose} {words_for_bytes(self.at_bytes)}"


@dataclass(frozen=True, slots=True)
class Range:
    """Policy, cluster and author together: no allocation is outside.

    cap_bytes: above it the API server refuses the pod; None if nothing caps.
    max_bytes: the policy's maximum; None if it has none.
    room_bytes, room_of, room_remedy: the most for a size above the request, and in words what sets
        it, and what people can do about that.
    request_bytes: what the user asked for; 0 if nothing.
    written_bytes: what the pod may use as its author wrote it; None if it has no limit.
    """

    floor_bytes: int
    cap_bytes: int | None = None
    max_bytes: int | None = None
    room_bytes: int | None = None
    room_of: str = ""
    room_remedy: str = ""
    request_bytes: int = 0
    written_bytes: int | None = 0

    @classmethod
    def of(cls, policy: Policy, bounds: Bounds, request_bytes: int | None) -> Range:
        """The bounds of one pod. request_bytes: as its author wrote it; None if nothing."""
        return cls(
            floor_bytes=max(policy.min_bytes, bounds.floor_bytes or 0),
            cap_bytes=bounds.cap_bytes,
            max_bytes=policy.max_bytes,
            room_bytes=bounds.room_bytes,
            room_of=bounds.room_of,
            room_remedy=bounds.room_remedy,
            request_bytes=request_bytes or 0,
            written_bytes=bounds.written_bytes,
        )

    @property
    def cap_words(self) -> str:
        """The tightest bound of a lift, in words; empty if there is none."""
        hold = self._of_lift()
        return hold.words if hold else ""

    @property
    def remedy(self) -> str:
        """What people can do about the tightest bound of a lift; empty if there is none."""
        hold = self._of_lift()
        return hold.remedy if hold else ""

    def forbids(self, request_bytes: int) -> str | None:
        """Say what forbids Plimsoll to set a size as large as the request; None if nothing does.

        Such a request is left as it is: it is a matter of its author and the cluster.
        """
        hold = _tightest([*self._most(), *self._cap()])
        return hold.words if hold and request_bytes > hold.at_bytes else None

    def is_cut(self, size_bytes: float) -> bool:
        """Whether the API server refuses a pod of this size."""
        return self.cap_bytes is not None and size_bytes > self.cap_bytes

    def clamp(self, size_bytes: float) -> Clamped:
        """Round up to whole MiB, raise to the floor, hold back a raise; the cap wins over all."""
        return self.admit(_whole(size_bytes))

    def admit(self, size_bytes: int) -> Clamped:
        """As ``clamp``, to the byte: a user's request stays as it is where it is allowed."""
        raised_bytes = max(size_bytes, self.floor_bytes)
        allowed_bytes = (
            raised_bytes if self.cap_bytes is None else min(raised_bytes, self.cap_bytes)
        )
        hold = _tightest(self._holds())
        if hold and hold.at_bytes < allowed_bytes:
            return self._held_back(allowed_bytes, hold)
        if allowed_bytes < raised_bytes:
            return Clamped(allowed_bytes, f"cut to {self._cap()[0].words}")
        if raised_bytes > size_bytes:
            return Clamped(
                raised_bytes, f"raised to the minimum of {words_for_bytes(raised_bytes)}"
            )
        return Clamped(raised_bytes)

    def lift(self, size_bytes: float) -> int:
        """The size after a kill: as ``clamp``, but nothing holds it back below the request.

        A run that was killed at a smaller size must get at least what its author wrote.
        """
        wanted_bytes = max(_whole(size_bytes), self.floor_bytes)
        hold = _tightest(self._holds())
        if hold and hold.at_bytes < wanted_bytes:
            wanted_bytes = max(hold.at_bytes, self.request_bytes)
        return wanted_bytes if self.cap_bytes is None else min(wanted_bytes, self.cap_bytes)

    def _held_back(self, size_bytes: int, hold: _Hold) -> Clamped:
        written_bytes = self.written_bytes
        # A BestEffort pod asked for nothing and has no limit: a cap of 0 is no size for it.
        if written_bytes is not None and hold.at_bytes >= max(written_bytes, self.request_bytes, 1):
            return Clamped(hold.at_bytes, f"cut to {hold.words}")
        size = words_for_bytes(size_bytes)
        return Clamped(None, f"{size} is more than {hold.words}, so it is left as written")

    def _of_lift(self) -> _Hold | None:
        return _tightest([*self._cap(), *self._holds()])

    def _holds(self) -> list[_Hold]:
        """The bounds that hold back a raise."""
        if self.room_bytes is None:
            return self._most()
        if self.room_bytes < self.request_bytes:
            whose = f"its request (more than {self.room_of}),"
            return [*self._most(), _Hold(self.request_bytes, whose, self.room_remedy)]
        return [*self._most(), _Hold(self.room_bytes, f"{self.room_of},", self.room_remedy)]

    def _most(self) -> list[_Hold]:
        if self.max_bytes is None:
            return []
        return [_Hold(self.max_bytes, "the policy's maximum of", "raise max")]

    def _cap(self) -> list[_Hold]:
        if self.cap_bytes is None:
            return []
        whose = "the LimitRange's maximum"
        return [_Hold(self.cap_bytes, f"{whose} of", f"raise {whose}")]


def _tightest(holds: list[_Hold]) -> _Hold | None:
    return min(holds, key=lambda hold: hold.at_bytes, default=None)


def _whole(size_bytes: float) -> int:
    """Round up to whole MiB."""
    # Rounded to bytes first: 1.1 x 100 MiB is a hair above 110 in floating point.
    return -(-round(size_bytes) // MIB) * MIB
