"""The ways that are compared on two real nodes."""

from __future__ import annotations

from enum import Enum


class Arm(Enum):
    """What chooses a pod's node, and the next pod."""

    USUAL = "as usual"
    HINTED = "with hints"
    ORDERED = "with order and hints"

    @property
    def policy(self) -> dict[str, str]:
        """The fields of its SizingPolicy."""
        return {
            "placing": "never" if self is Arm.USUAL else "enforce",
            "order": "enforce" if self is Arm.ORDERED else "never",
        }
