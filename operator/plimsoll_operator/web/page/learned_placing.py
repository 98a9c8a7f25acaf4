"""Holds what runs taught about neighbours, and learns it again at times while somebody looks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.views.placing_facts import PlacingFacts, learned_facts
from plimsoll_operator.web.page.index import Later
from plimsoll_predictor.store import Store, StoreError

log: Final = logging.getLogger(__name__)

MOST_RUNS: Final = 5_000
FRESH_S: Final = 60.0
"""A few dozen new runs change little in what thousands show."""
REST: Final = 100.0
"""Learning rests this many times as long as it took: it uses the controller's processor."""


@dataclass(frozen=True, slots=True)
class _Learned:
    facts: PlacingFacts | None
    at_s: float
    took_s: float

    def is_old(self, now_s: float) -> bool:
        """Say whether it had better be learned again."""
        return now_s - self.at_s > max(FRESH_S, REST * self.took_s)


class LearnedPlacing:
    """What the newest runs taught. Several threads may use it.

    The first reader waits for it; others get the latest at once, and if it is old, learning begins
    in the background. clock: gives seconds that never go back.
    """

    def __init__(self, store: Store, later: Later, clock: Callable[[], float]) -> None:
        self._store = store
        self._later = later
        self._clock = clock
        self._learned: _Learned | None = None
        self._learning = threading.Lock()

    def facts(self) -> PlacingFacts | None:
        """The latest; None if it cannot be learned; then the log says why.

        Raises:
            StoreError: if nothing was learned yet and the store cannot be read now.
        """
        last = self._learned
        if last is None:
            with self._learning:
                # Another thread may have learned it meanwhile.
                if self._learned is None:
                    self._learn()
                return self._learned.facts if self._learned else None
        if last.is_old(self._clock()):
            self._later(self.refresh)
        return last.facts

    def refresh(self) -> None:
        """Learn now, unless learning is under way. A StoreError leaves the latest.

        Each who looks at what is old asks for it; only the first of them has it learned.
        """
        if self._learning.acquire(blocking=False):
            try:
                if self._learned is None or self._learned.is_old(self._clock()):
                    self._learn()
            finally:
                self._learning.release()

    def _learn(self) -> None:
        begun_s = self._clock()
        facts: PlacingFacts | None = None
        try:
            facts = learned_facts(self._store.encounters.newest(limit=MOST_RUNS))
        except StoreError:
            raise
        except Exception:
            # Stored data may be of any version; the rest of the page is still shown.
            log.exception("which tasks slow each other could not be learned for the page")
        now_s = self._clock()
        self._learned = _Learned(facts, now_s, now_s - begun_s)
