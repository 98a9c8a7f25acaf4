"""Remembers in which namespaces pods cannot be let go now.

A webhook may be down there, or a rule may forbid it. Such a namespace keeps no other one waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from plimsoll_operator.kube.errors import UNREACHABLE_PAUSE_S

FIRST_PAUSE_S: Final = 5 * UNREACHABLE_PAUSE_S
"""After a call got no answer, no pod of its namespace is tried for this long."""
LONGEST_PAUSE_S: Final = 60.0
"""The pause doubles up to this, as long as calls about others are answered."""
MOST_IN_A_ROW: Final = 5
"""If so many calls in a row got no answer, the API server itself seems to be away."""
SLOW_S: Final = 3.0
"""An answer that takes longer is slow: nobody else waits for it."""
SLOW_FOR_S: Final = 60.0
"""For this long after a slow answer, nobody waits for a turn in its namespace."""
FORBIDDEN_FOR_S: Final = 3600.0
"""After the API server refused to let a pod go, no new pod of its namespace waits for this long,
unless another one could be let go there. As long as the refused pod waits, it is tried again."""


@dataclass(frozen=True, slots=True)
class _Pause:
    began_s: float
    lasts_s: float


@dataclass(slots=True)
class TroubledNamespaces:
    """All times are of one clock that cannot jump."""

    _pauses: dict[str, _Pause] = field(default_factory=dict)
    _refused_s: dict[str, float] = field(default_factory=dict)
    _slow_s: dict[str, float] = field(default_factory=dict)
    _answered_s: float = float("-inf")
    _in_a_row: int = 0

    def rests(self, namespace: str, now_s: float) -> bool:
        """Say whether no pod of the namespace should be tried now."""
        pause = self._pauses.get(namespace)
        return pause is not None and now_s - pause.began_s < pause.lasts_s

    def forbids(self, namespace: str, now_s: float) -> bool:
        """Say whether pods that wait there might never be let go."""
        refused_s = self._refused_s.get(namespace)
        return refused_s is not None and now_s - refused_s < FORBIDDEN_FOR_S

    def is_slow(self, namespace: str, now_s: float) -> bool:
        """Say whether it takes so long to let a pod go there that turns would be of no use."""
        slow_s = self._slow_s.get(namespace)
        return slow_s is not None and now_s - slow_s < SLOW_FOR_S

    def bars(self, namespace: str, now_s: float) -> bool:
        """Say whether pods that were tried there lately could not be let go, or only slowly."""
        has_failed = namespace in self._pauses or self.forbids(namespace, now_s)
        return has_failed or self.is_slow(namespace, now_s)

    def was_answered(self, now_s: float) -> None:
        """Note that the API server answered a call, whatever it was about."""
        self._answered_s, self._in_a_row = now_s, 0

    def was_answered_in(self, namespace: str, seconds: float, now_s: float) -> None:
        """Note how long an answer about a pod of the namespace took: its webhooks may be slow."""
        self.was_answered(now_s)
        if seconds > SLOW_S:
            self._slow_s[namespace] = now_s

    def has_released(self, namespace: str) -> None:
        """Note that a pod of the namespace was let go."""
        self._pauses.pop(namespace, None)
        self._refused_s.pop(namespace, None)

    def was_not_answered(self, namespace: str, now_s: float) -> bool:
        """Let the namespace rest. Return whether the API server itself seems to be away."""
        last = self._pauses.get(namespace)
        lasts_s = FIRST_PAUSE_S if last is None else last.lasts_s
        if last is not None and self._answered_s >= last.began_s:
            lasts_s = min(LONGEST_PAUSE_S, 2 * lasts_s)
        self._pauses[namespace] = _Pause(now_s, lasts_s)
        self._in_a_row += 1
        return self._in_a_row % MOST_IN_A_ROW == 0

    def was_refused(self, namespace: str, now_s: float) -> bool:
        """Note that a pod may not be let go there. Return whether that is news."""
        is_news = not self.forbids(namespace, now_s)
        self._refused_s[namespace] = now_s
        return is_news
