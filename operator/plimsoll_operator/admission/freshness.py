"""Whether admission has heard enough of the controller, lately, to size pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_SILENCE_S: Final = 600.0
"""By then Kubernetes has started a failed controller on another node, and it was heard."""
MAX_UNANSWERED_S: Final = 5.0
"""A question or two may fail while one controller replaces another; a Job makes its second pod
ten seconds after the first was killed. The controller holds a question for five seconds; so one
that vanishes, and whose connections stay open, is noticed within ten."""


@dataclass(slots=True)
class Freshness:
    """Whether admission's knowledge is recent enough to size by. Its clock cannot jump.

    heard_s: monotonic seconds when the controller last answered, or a snapshot was loaded; None
        before either. A snapshot's own age is not counted: it comes from a wall clock, which may
        have jumped.
    max_age_s: pods are left as they are if knowledge is older.
    max_silence_s: after a longer silence, sizes are raised only: a pod that is killed meanwhile
        may never be lifted, because only the controller sees it.
    failed_s: monotonic seconds of the first unanswered question since then, or when its answer was
        due; None if all were answered.
    due_s: monotonic seconds when the answer to the open question is due; None if none is open. A
        question that hangs fails much later.
    from_feed: whether the controller has answered since the start. A snapshot does not count: after
        a power failure, admission can be back long before the controller.
    """

    max_age_s: float
    heard_s: float | None = None
    from_feed: bool = False
    max_silence_s: float = MAX_SILENCE_S
    failed_s: float | None = None
    due_s: float | None = None

    def ask(self, due_s: float) -> None:
        """Note a question to the controller. due_s: when its answer is due, monotonic seconds."""
        self.due_s = due_s

    def hear(self, now_s: float) -> None:
        """Note that the controller answered."""
        self.heard_s = now_s
        self.failed_s = self.due_s = None
        self.from_feed = True

    def fail(self, now_s: float) -> None:
        """Note that the controller did not answer a question."""
        if self.failed_s is None:
            self.failed_s = now_s if self.due_s is None else min(now_s, self.due_s)

    def load(self, now_s: float) -> None:
        """Note that a snapshot was loaded."""
        self.heard_s = now_s

    def age_s(self, now_s: float) -> float | None:
        """Seconds since ``heard_s``; None if nothing was heard."""
        return None if self.heard_s is None else now_s - self.heard_s

    def trouble(self, now_s: float) -> str | None:
        """Say why nothing may be sized, in one word for counting; None if all is well."""
        age_s = self.age_s(now_s)
        if age_s is None:
            return "no-knowledge"
        return "stale" if age_s > self.max_age_s else None

    def unhealed(self, now_s: float) -> str | None:
        """Say why runs that are killed now might not be lifted; None while all is well.

        The words depend on no time, so that a pod that is asked for twice gets the same answer.
        """
        if not self.from_feed or self.heard_s is None:
            return "the controller was not heard since this admission started"
        since_s = self.due_s if self.failed_s is None else self.failed_s
        if since_s is not None and now_s - since_s > MAX_UNANSWERED_S:
            return "the controller does not answer"
        if now_s - self.heard_s > self.max_silence_s:
            return "the controller has been silent for too long"
        return None
