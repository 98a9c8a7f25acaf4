"""Whether what admission knows is recent enough to size by. On a clock that cannot jump."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Freshness:
    """When admission last heard from the controller.

    heard_s: monotonic seconds of the last word, or of loading a snapshot; None before either.
        A snapshot's own age is not counted: it was written by a wall clock, which may have jumped.
    max_age_s: older than that, pods are left as they are.
    """

    max_age_s: float
    heard_s: float | None = None
    from_feed: bool = False

    def hear(self, now_s: float) -> None:
        """The controller answered: all that is known is as of now."""
        self.heard_s = now_s
        self.from_feed = True

    def load(self, now_s: float) -> None:
        """A snapshot was loaded."""
        self.heard_s = now_s

    def age_s(self, now_s: float) -> float | None:
        """Seconds since the last word; None if there was none."""
        return None if self.heard_s is None else now_s - self.heard_s

    def trouble(self, now_s: float) -> str | None:
        """Why nothing may be sized, in one word for counting; None if all is well."""
        age_s = self.age_s(now_s)
        if age_s is None:
            return "no-knowledge"
        return "stale" if age_s > self.max_age_s else None
