"""Room that namespaces share: when it is full, the one that holds most loses its oldest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Shares(Generic[K]):
    """Keys by owner, each with a weight, in the order of their last use.

    An owner that uses ever more keys loses its own once it holds more than any other, so that the
    others keep an equal share. Cost: O(1); while it is full, O(owners) for each new key.
    """

    def __init__(self, most: int, most_each: int | None = None) -> None:
        """most: sum of all weights. most_each: sum of one owner's; None for no such bound."""
        self._most = most
        self._most_each = most if most_each is None else most_each
        self._keys: dict[str, OrderedDict[K, int]] = {}
        self._held: dict[str, int] = {}
        self.total = 0
        """The sum of all weights."""

    def __len__(self) -> int:
        return sum(map(len, self._keys.values()))

    def copy(self) -> Shares[K]:
        """Return a copy, which later uses do not change."""
        copied = Shares[K](self._most, self._most_each)
        copied._keys = {owner: keys.copy() for owner, keys in self._keys.items()}
        copied._held, copied.total = self._held.copy(), self.total
        return copied

    def held(self, owner: str) -> int:
        """Return the sum of an owner's weights."""
        return self._held.get(owner, 0)

    def would_lose(self, owner: str, weight: int) -> bool:
        """Say whether there is no room for it, and no owner would hold more than this one."""
        if self.total + weight <= self._most:
            return False
        return self.held(owner) + weight >= max(self._held.values(), default=0)

    def use(self, owner: str, key: K, weight: int = 1) -> list[K]:
        """Note the owner's key as its newest. Return the keys that had to go, maybe itself."""
        self.drop(owner, key)
        self._keys.setdefault(owner, OrderedDict())[key] = weight
        self._held[owner] = self._held.get(owner, 0) + weight
        self.total += weight
        return list(self._pushed_out(owner))

    def drop(self, owner: str, key: K) -> None:
        """Free the key's room, if it has any."""
        keys = self._keys.get(owner)
        if keys is None or key not in keys:
            return
        weight = keys.pop(key)
        self.total -= weight
        self._held[owner] -= weight
        if not keys:
            del self._keys[owner], self._held[owner]

    def _pushed_out(self, owner: str) -> Iterator[K]:
        while self.held(owner) > self._most_each:
            yield self._oldest(owner)
        while self.total > self._most:
            yield self._oldest(max(self._held, key=self._held.__getitem__))

    def _oldest(self, owner: str) -> K:
        key = next(iter(self._keys[owner]))
        self.drop(owner, key)
        return key
