"""When the forecasts' expert that uses features is fitted: whenever there are enough new runs.

If that fails, the previous fit serves on, or forecasts use only the past; ``plimsoll forecast``
says so.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from plimsoll_operator.training.features import known_runs
from plimsoll_operator.training.store_learning import LogWords
from plimsoll_predictor.runtimes.features.fitting import is_due
from plimsoll_predictor.store import LastTry, Store, Writer

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.features_trainer")
TRY_AGAIN_S: Final = 3600.0
"""The time from one fit, or failure, to the next."""
FIT_ANYWAY_S: Final = 7 * 24 * 3600.0
"""A fit that is older than this is made again if there are any newer runs."""


def should_fit(last: LastTry | None, known: int, now_s: float) -> bool:
    """Say whether to fit now. last: how the last fit ended. known: see ``known_runs``."""
    if last is None:
        return is_due(known, 0)
    # A time in the future, by a clock that was ahead, counts as long ago.
    since_s = now_s - last.at_s if last.at_s <= now_s else math.inf
    if since_s < TRY_AGAIN_S:
        return False
    if last.failure is not None:
        return is_due(known, 0)
    # Old runs are pruned, so there may be fewer runs than before.
    return is_due(known, min(last.known, known)) or (
        since_s >= FIT_ANYWAY_S and known != last.known and is_due(known, 0)
    )


@dataclass(slots=True, kw_only=True)
class FeatureLesson:
    """One per controller. fitted: is called after a success. now_s: gives Unix seconds."""

    words: ClassVar[LogWords] = LogWords(
        "features",
        "what features say of runtimes",
        "what features say of runtimes could not be fitted",
    )

    store: Store
    writer: Writer
    now_s: Callable[[], float]
    fitted: Callable[[], None]
    command: Sequence[str] = COMMAND
    _known: int = field(default=0, init=False)
    """Runs that were known when the try began."""

    async def begin(self) -> bool:
        """As in ``Lesson``."""
        last = await self.writer.read(self.store.features.last_try)
        self._known = await self.writer.read(known_runs, self.store)
        return should_fit(last, self._known, self.now_s())

    async def end(self, failure: str | None) -> None:
        """As in ``Lesson``."""
        if failure is None:
            self.fitted()
            return
        features = self.store.features
        await self.writer.call(features.record_failure, self.now_s(), self._known, failure)
