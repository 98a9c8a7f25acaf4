"""What runs of the same item needed before: features that no author has to write down.

A workflow works on items (a sample, a partition, a date). What earlier tasks of the same workflow
run needed for an item, and what this task needed for it in an earlier run, often carry its size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

MOST_ITEMS: Final = 20_000
"""Items of workflow runs; and twice as many needs of earlier runs: some 15 MB at most."""
MOST_EARLIER: Final = 40_000
MOST_TASKS: Final = 32
"""Of one item's tasks, the latest."""
UPSTREAM: Final = "needed-by:"
"""Prefix of the features of earlier tasks of the same run and item."""
EARLIER: Final = "needed-before"
"""This task's need for the same item in an earlier run."""


class Siblings:
    """Latest needs by item, bounded: what was touched longest ago is forgotten."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[str, str], dict[str, float]] = OrderedDict()
        self._earlier: OrderedDict[tuple[str, str], float] = OrderedDict()

    def note(self, run: str | None, item: str | None, task: str, need_bytes: float) -> None:
        """Take in a need once it is known. task: its name as features show it."""
        if not item:
            return
        self._earlier[(task, item)] = need_bytes
        self._earlier.move_to_end((task, item))
        if run:
            needs = self._items.setdefault((run, item), {})
            needs.pop(task, None)
            needs[task] = need_bytes
            if len(needs) > MOST_TASKS:
                del needs[next(iter(needs))]
            self._items.move_to_end((run, item))
        self._bound()

    def features(self, run: str | None, item: str | None, task: str) -> dict[str, float]:
        """What is known now for a run of the task; empty where the item is not."""
        if not item:
            return {}
        upstream = self._items.get((run, item), {}) if run else {}
        found = {UPSTREAM + name: need for name, need in upstream.items() if name != task}
        earlier = self._earlier.get((task, item))
        if earlier is not None:
            found[EARLIER] = earlier
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, what was touched longest ago first; ``from_dict`` reads it back."""
        return {
            "items": [[run, item, needs] for (run, item), needs in self._items.items()],
            "earlier": [[task, item, need] for (task, item), need in self._earlier.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Siblings:
        """Inverse of ``to_dict``."""
        siblings = cls()
        for run, item, needs in data["items"]:
            siblings._items[(run, item)] = {str(task): float(n) for task, n in needs.items()}
        for task, item, need in data["earlier"]:
            siblings._earlier[(task, item)] = float(need)
        siblings._bound()
        return siblings

    def _bound(self) -> None:
        while len(self._items) > MOST_ITEMS:
            self._items.popitem(last=False)
        while len(self._earlier) > MOST_EARLIER:
            self._earlier.popitem(last=False)
