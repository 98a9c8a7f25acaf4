"""When the shapes of runtimes are learned: once a day."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from plimsoll_operator.training.store_learning import LogWords
from plimsoll_predictor.runtimes.shapes.normalising import SUPPORT
from plimsoll_predictor.store import Store, Writer

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.shapes_trainer")
LEARN_EVERY_S: Final = 24 * 3600.0
TRY_AGAIN_S: Final = 3600.0
"""The time to the next try after a failure."""


def is_due(made_s: float | None, tried_s: float | None, now_s: float) -> bool:
    """Say whether to learn now. made_s: of the last success. tried_s: of the last try.

    A time in the future, by a clock that was ahead, counts as long ago.
    """
    if made_s is not None and 0 <= now_s - made_s < LEARN_EVERY_S:
        return False
    return tried_s is None or not 0 <= now_s - tried_s < TRY_AGAIN_S


@dataclass(slots=True, kw_only=True)
class ShapeLesson:
    """One per controller. now_s: gives Unix seconds."""

    words: ClassVar[LogWords] = LogWords(
        "shapes", "shapes of runtimes are learned", "shapes of runtimes could not be learned"
    )

    store: Store
    writer: Writer
    now_s: Callable[[], float]
    command: Sequence[str] = COMMAND
    _tried_s: float | None = field(default=None, init=False)

    async def begin(self) -> bool:
        """As in ``Lesson``."""
        now_s = self.now_s()
        made_s = await self.writer.read(self.store.shapes.made_s)
        if not is_due(made_s, self._tried_s, now_s):
            return False
        summaries = await self.writer.read(self.store.totals.by_task)
        if all(each.observations < SUPPORT for each in summaries.values()):
            return False
        self._tried_s = now_s
        return True

    async def end(self, failure: str | None) -> None:
        """As in ``Lesson``. The process kept the shapes; no decision depends on them."""
