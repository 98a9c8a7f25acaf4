"""Says why a pod that waits for its turn is let go."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    """Why a pod is let go, for counting."""

    TURN = "turn"
    """It is next, and a node has room for it."""
    OVERTAKEN = "overtaken"
    """So many have overtaken it that it waits for the scheduler from now on."""
    WAITED = "waited"
    """It was held for as long as it may be."""
    OTHERS = "others"
    """Somebody else holds it, too, or it is one of a group."""
    UNRANKED = "unranked"
    """It is a Job whose pods' priority is not known, or that may not preempt."""
    UNORDERED = "unordered"
    """No policy orders its task any more, or it is paused."""
    LARGE = "large"
    """It fits on no node, even if nobody else were there."""
    OUTSIDE = "outside"
    """A later pod that was never held waits for the scheduler: it would overtake this one."""
    CROWD = "crowd"
    """More are held than could be let go within seconds."""
    BLIND = "blind"
    """It is not known who is on the nodes."""
    AWAY = "away"
    """Nobody leads, so that an admission replica, or people, let it go."""
