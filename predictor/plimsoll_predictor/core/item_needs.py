"""Needs of earlier runs of the same item, as features that no author has to write down.

A workflow works on items (a sample, a partition, a date). What earlier tasks of the same workflow
run needed for an item, and what this task needed for it in an earlier run, often tell its size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from plimsoll_predictor.core.shares import Shares

MOST_ITEMS: Final = 10_000
"""The most items of workflow runs."""
MOST_EARLIER: Final = 20_000
"""The most needs by task and item, over all runs; with the items, some 20 MB at most."""
LONG_BYTES: Final = 512
"""Names of so many bytes take the room of one more item."""
MOST_UPSTREAM: Final = 8
"""The most tasks of the same run and item whose needs are features: the latest."""
UPSTREAM: Final = "needed-by:"
"""Prefix of the features of earlier tasks of the same run and item."""
EARLIER: Final = "needed-before"
"""This task's need for the same item in an earlier run."""

T = TypeVar("T")
_Key = tuple[str, str]
_NONE: Final[Mapping[str, float]] = {}


@dataclass(slots=True)
class Siblings:
    """Latest needs by item. They are bounded: the ones used longest ago are forgotten.

    The namespace that has most of them loses its own first; an item begins with its namespace.
    Values are never changed, only replaced, so a copy of the keys is a copy.
    """

    _items: OrderedDict[_Key, Mapping[str, float]] = field(default_factory=OrderedDict)
    """(run, item) -> task -> bytes."""
    _earlier: OrderedDict[_Key, float] = field(default_factory=OrderedDict)
    """(task, item) -> bytes."""
    _item_shares: Shares[_Key] = field(default_factory=lambda: Shares(MOST_ITEMS), compare=False)
    _earlier_shares: Shares[_Key] = field(
        default_factory=lambda: Shares(MOST_EARLIER), compare=False
    )

    def __len__(self) -> int:
        return len(self._items) + len(self._earlier)

    def note(self, run: str | None, item: str | None, task: str, need_bytes: float) -> None:
        """Learn a need once it is known. task: its name as features show it."""
        if not item:
            return
        self.put_earlier(task, item, need_bytes)
        if run:
            before = self.needs(run, item)
            needs = {name: need for name, need in before.items() if name != task}
            needs[task] = need_bytes
            # One more than there are features, because a task is no feature of itself.
            if len(needs) > MOST_UPSTREAM + 1:
                del needs[next(iter(needs))]
            self.put_needs(run, item, needs)

    def needs(self, run: str, item: str) -> Mapping[str, float]:
        """Task -> bytes that it needed in this run for this item; the latest last."""
        return self._items.get((run, item), _NONE)

    def put_needs(self, run: str, item: str, needs: Mapping[str, float]) -> None:
        """Set what ``needs`` gives."""
        _put(self._items, (run, item), needs, self._item_shares, sum(map(len, needs)))

    def earlier(self, task: str, item: str) -> float | None:
        """Bytes that the task needed for this item the last time; None if that is not known."""
        return self._earlier.get((task, item))

    def put_earlier(self, task: str, item: str, need_bytes: float) -> None:
        """Set what the task needed for this item the last time, in whatever run."""
        _put(self._earlier, (task, item), need_bytes, self._earlier_shares)

    def features(self, run: str | None, item: str | None, task: str) -> dict[str, float]:
        """The features of a run of the task, by now; empty where the item is not known."""
        if not item:
            return {}
        upstream = self.needs(run, item) if run else _NONE
        names = [name for name in upstream if name != task][-MOST_UPSTREAM:]
        features = {UPSTREAM + name: upstream[name] for name in names}
        earlier = self.earlier(task, item)
        if earlier is not None:
            features[EARLIER] = earlier
        return features

    def copy(self) -> Siblings:
        """A copy, which later needs do not change."""
        return Siblings(
            self._items.copy(),
            self._earlier.copy(),
            self._item_shares.copy(),
            self._earlier_shares.copy(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, the needs used longest ago first; ``from_dict`` reads it back."""
        return {
            "items": [[run, item, needs] for (run, item), needs in self._items.items()],
            "earlier": [[task, item, need] for (task, item), need in self._earlier.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Siblings:
        """Inverse of ``to_dict``; KeyError, TypeError or ValueError on foreign data."""
        siblings = cls()
        for run, item, needs in data["items"]:
            read = {str(task): float(need) for task, need in dict(needs).items()}
            siblings.put_needs(str(run), str(item), read)
        for task, item, need in data["earlier"]:
            siblings.put_earlier(str(task), str(item), float(need))
        return siblings


def owner_of(item: str) -> str:
    """Return the namespace that an item's name begins with; all others share one."""
    namespace, slash, _ = item.partition("/")
    return namespace if slash else ""


def _put(
    latest: OrderedDict[_Key, T], key: _Key, value: T, shares: Shares[_Key], value_bytes: int = 0
) -> None:
    latest[key] = value
    latest.move_to_end(key)
    weight = 1 + (len(key[0]) + len(key[1]) + value_bytes) // LONG_BYTES
    for gone in shares.use(owner_of(key[1]), key, weight):
        del latest[gone]
