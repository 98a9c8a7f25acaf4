"""Learns the needs of runs for the items of workflows, and tells them to admission.

They are a cache, bounded as ``Siblings`` is. A start builds it from the newest observations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import chain

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.item_keys import ItemKey, Scope
from plimsoll_operator.pods.workflow_items import MAX_TASK_BYTES, bounded_name, place_of
from plimsoll_predictor.core.item_needs import Siblings
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.store import ItemNeed


class ItemNeeds:
    """``siblings`` holds what is known; every change of it goes to the feed at once."""

    def __init__(self, board: FeedBoard) -> None:
        self._board = board
        self.siblings = Siblings()
        self._meanwhile: list[ItemNeed] | None = None
        """What was learned since ``read_anew`` or ``restore`` began; None while neither runs."""

    async def read_anew(self, read: Callable[[], Awaitable[Iterable[ItemNeed]]]) -> None:
        """Restore what ``read`` gives; what is learned since the reading began is not lost."""
        self._meanwhile = []
        try:
            await self.restore(await read())
        finally:
            self._meanwhile = None

    async def restore(self, past: Iterable[ItemNeed]) -> None:
        """Begin again with what the store knows. past: oldest first.

        Others have their turns meanwhile, and use what was known before.
        """
        restored, turns, keys = Siblings(), Turns(), dict[ItemKey, None]()
        meanwhile = self._meanwhile = self._meanwhile or []
        try:
            # The second list grows until its end is reached.
            for need in chain(past, meanwhile):
                for key in _note(restored, need):
                    keys.pop(key, None)
                    keys[key] = None
                await turns.rest()
            self.siblings = restored
        finally:
            self._meanwhile = None
        # Each key is published once, at the end, so that readers need not follow the whole past.
        for key in keys:
            self._tell(key)
            await turns.rest()

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Learn its need once. An end seen again after a restart is skipped: newer needs came."""
        if event.novelty.new or event.novelty.learned:
            self.learn(event.observation)

    def learn(self, observation: Observation) -> None:
        """Learn what one run needed, if that is known."""
        need, item = observation.need, observation.item
        if item is None or need is None or need.censored or need.size_bytes <= 0:
            return
        item_need = ItemNeed(observation.task, observation.workflow_run, item, need.size_bytes)
        if self._meanwhile is not None:
            self._meanwhile.append(item_need)
        for key in _note(self.siblings, item_need):
            self._tell(key)

    def _tell(self, key: ItemKey) -> None:
        needs = key.needs(self.siblings)
        if needs:  # in a long past, the oldest needs are already forgotten
            self._board.set_item(key, needs)


def _note(siblings: Siblings, need: ItemNeed) -> list[ItemKey]:
    """Note a need. Return the feed's keys that it changes."""
    # Imported history has looser bounds than what is read from pods.
    task, run, item = need.task, bounded_name(need.run), bounded_name(need.item)
    if item is None or len(task.name.encode()) > MAX_TASK_BYTES:
        return []
    place = place_of(task, item)
    siblings.note(run, place, task.name, float(need.need_bytes))
    keys = [ItemKey(Scope.TASK, task.name, place)]
    return [*keys, ItemKey(Scope.RUN, run, place)] if run else keys
