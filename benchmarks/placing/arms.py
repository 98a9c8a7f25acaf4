"""The ways that are compared on two real nodes."""

from __future__ import annotations

from enum import Enum


class Arm(Enum):
    """Who chooses a pod's node, and which pod is next."""

    USUAL = "as usual"
    HINTED = "with hints"
    ORDERED = "with order and hints"

    @property
    def policy(self) -> dict[str, str]:
        """What a SizingPolicy says of it."""
        return {
            "placing": "never" if self is Arm.USUAL else "enforce",
            "order": "enforce" if self is Arm.ORDERED else "never",
        }
