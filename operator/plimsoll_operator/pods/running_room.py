"""Room for running pods, in which those that Plimsoll has changed stay when others must go. Pure.

A pod that lends or was raised must be held until it ends: nobody else would give it back what it
lent, or take back what it was given. Anybody can write the annotations that say so. Hence such pods
have a room of their own, in which junk pushes out only pods of its own namespace, unless others
hold more.
"""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.core.shares import Shares

TIMES_CHANGED: Final = 2
"""Pods that Plimsoll has changed may take so many times the room of those that it may change."""


class RunningRoom:
    """Pods by UID, each in one of two rooms, with the bytes that it takes."""

    def __init__(self, most_bytes: int) -> None:
        """most_bytes: of all pods that Plimsoll has not changed."""
        self._unchanged = Shares[str](most_bytes)
        self._changed = Shares[str](TIMES_CHANGED * most_bytes)

    @property
    def held_bytes(self) -> int:
        """Return the bytes of all pods."""
        return self._unchanged.total + self._changed.total

    def take(self, owner: str, uid: str, size_bytes: int, *, changed: bool) -> list[str]:
        """Give a pod room. Return the pods that have none any more, maybe itself.

        changed: whether Plimsoll has changed the pod, or may have. If the room of these pods is
        full, it may have room with the others.
        """
        self.drop(owner, uid)
        rooms = (self._changed, self._unchanged) if changed else (self._unchanged,)
        for room in rooms:
            if not room.would_lose(owner, size_bytes):
                return room.use(owner, uid, size_bytes)
        return [uid]

    def drop(self, owner: str, uid: str) -> None:
        """Free the room of a pod, if it has any."""
        self._unchanged.drop(owner, uid)
        self._changed.drop(owner, uid)
