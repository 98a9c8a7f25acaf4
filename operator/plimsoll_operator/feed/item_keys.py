"""The names of the feed's entries about items: each says whose needs the entry holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from plimsoll_operator.pods.workflow_items import need_bytes
from plimsoll_predictor.core.item_needs import MOST_UPSTREAM, Siblings

MAX_KEY_CHARS: Final = 1024
MOST_NEEDS: Final = MOST_UPSTREAM + 1


class Scope(StrEnum):
    """The owner of an item's needs."""

    RUN = "run"
    """The needs of the tasks of one workflow run for the item."""
    TASK = "task"
    """The need of one task for the item in its latest run, whichever that was."""


@dataclass(frozen=True, slots=True)
class ItemKey:
    """One entry of the feed. name: the run's or the task's; place: ``workflow_items.place_of``."""

    scope: Scope
    name: str
    place: str

    def text(self) -> str:
        """The key as the feed has it; ``parse`` reads it back."""
        return orjson.dumps([self.scope.value, self.name, self.place]).decode()

    @classmethod
    def parse(cls, text: str) -> ItemKey:
        """Inverse of ``text``; TypeError or ValueError on anything else."""
        if len(text) > MAX_KEY_CHARS:
            raise ValueError(f"an item's key has {len(text)} characters")
        scope, name, place = orjson.loads(text)
        if not (isinstance(name, str) and isinstance(place, str)):
            raise TypeError("an item's key is not made of texts")
        return cls(Scope(scope), name, place)

    def needs(self, siblings: Siblings) -> Mapping[str, float]:
        """Return the item's needs: task -> bytes, the latest last; empty if unknown."""
        if self.scope is Scope.RUN:
            return siblings.needs(self.name, self.place)
        need = siblings.earlier(self.name, self.place)
        return {} if need is None else {self.name: need}

    def put(self, siblings: Siblings, data: Mapping[str, Any]) -> None:
        """Note the feed's needs of the item; LookupError, TypeError, ValueError if foreign."""
        pairs = data["needs"]
        if not 0 < len(pairs) <= MOST_NEEDS:
            raise ValueError(f"an item has {len(pairs)} needs")
        needs = {str(task): need_bytes(need) for task, need in pairs}
        if self.scope is Scope.RUN:
            siblings.put_needs(self.name, self.place, needs)
        else:
            siblings.put_earlier(self.name, self.place, needs[self.name])
