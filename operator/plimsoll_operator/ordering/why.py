"""Says why a pod that waits for its turn is released."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    """Why a pod is released, for counting."""

    TURN = "turn"
    """It is next, and a node has room for it."""
    OVERTAKEN = "overtaken"
    """Too many have overtaken it: it waits for the scheduler from now on."""
    WAITED = "waited"
    """It was held as long as allowed."""
    OTHERS = "others"
    """Somebody else holds it, too, or it belongs to a group."""
    UNRANKED = "unranked"
    """It is a Job whose pods' priority is not known, or that may not preempt."""
    UNORDERED = "unordered"
    """No policy orders its task any more, it is paused, or releases are slow in its namespace."""
    LARGE = "large"
    """It fits on no node, even on an empty one."""
    OUTSIDE = "outside"
    """A later pod that was never held waits for the scheduler: it would overtake this one."""
    LOWER = "lower"
    """A pod of lower priority waits for the scheduler: it would start first, and be preempted."""
    CROWD = "crowd"
    """More are held than could be released within seconds."""
    BLIND = "blind"
    """It is not known which pods are on the nodes."""
    AWAY = "away"
    """Nobody leads, so an admission replica, or people, release it."""
