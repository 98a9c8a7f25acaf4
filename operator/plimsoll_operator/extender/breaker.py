"""Says when no answer is computed because the last ones came too late. Pure.

A scheduler waits for each answer, one pod after another, as long as it is configured to: an
extender that is always late delays each pod by that time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

MOST_LATE: Final = 5
"""Late answers in a row, after which none is computed for a while."""
REST_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """late: late answers in a row. rests_until_s: on a clock that cannot jump."""

    late: int = 0
    rests_until_s: float = -math.inf

    def rests(self, now_s: float) -> bool:
        """Say whether nothing is computed now."""
        return now_s < self.rests_until_s

    def after_late(self, now_s: float) -> Breaker:
        """Return it after one more late answer. After a rest, one late answer begins the next."""
        late = min(self.late + 1, MOST_LATE)
        return Breaker(late, now_s + REST_S if late == MOST_LATE else self.rests_until_s)

    def after_timely(self) -> Breaker:
        """Return it after an answer in time."""
        return self if not self.late else replace(self, late=0)
