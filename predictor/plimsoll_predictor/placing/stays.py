"""Which runs were on a node when, and so what each run ran beside, weighted by shared time.

Runs may be reported in any order, such as when all that a cluster holds is seen at once. What a run
shared with others is added up at its end. Before an ended run is forgotten, the living runs have
added up what they shared with it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from plimsoll_predictor.placing.encounter import MOST_BESIDE
from plimsoll_predictor.placing.kinds import OTHERS, UNLABELLED

T = TypeVar("T")

ENDED_KEPT: Final = 10_000
"""The most ended runs of all nodes to remember, for runs that are reported after them."""
ENDED_KEPT_ON_A_NODE: Final = 500
LIVING_KEPT: Final = 50_000
"""The most living runs: missed ends must not fill the memory."""
MOST_KINDS_SHARED: Final = 200
"""For a living run: a service may live beside a new task each minute. Few of them are stored."""
MOST_BESIDE_BYTES: Final = 512
"""The most bytes that are stored for each attempt."""
_AROUND_A_NAME: Final = 11
"""Bytes of its quotes, colon, number and comma."""


@dataclass(frozen=True, slots=True)
class Stay:
    """One run on a node. Times are Unix seconds. ended_s: None while it lives."""

    node: str
    kind: str
    started_s: float
    ended_s: float | None = None

    def shared_s(self, started_s: float, ended_s: float) -> float:
        """Return how many of these seconds it was there."""
        end_s = ended_s if self.ended_s is None else min(self.ended_s, ended_s)
        return max(0.0, end_s - max(self.started_s, started_s))


@dataclass(slots=True)
class _Living:
    stay: Stay
    shared_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Kind -> seconds shared with runs of it that are not remembered."""

    def add(self, kind: str, shared_s: float) -> None:
        """Add up; if there are too many kinds, those with the least time become OTHERS."""
        self.shared_s[kind] += shared_s
        if len(self.shared_s) <= MOST_KINDS_SHARED:
            return
        told = sorted(self.shared_s, key=lambda each: (each != OTHERS, -self.shared_s[each]))
        for least in told[MOST_KINDS_SHARED // 2 :]:
            self.shared_s[OTHERS] += self.shared_s.pop(least)


class Stays:
    """The runs on all nodes. Cost: a look at each known run of the node, per end."""

    def __init__(self, *, ended_kept: int = ENDED_KEPT, living_kept: int = LIVING_KEPT) -> None:
        self._most = (ended_kept, living_kept)
        self._living: OrderedDict[str, _Living] = OrderedDict()
        self._ended: OrderedDict[str, Stay] = OrderedDict()
        self._living_on: dict[str, dict[str, _Living]] = defaultdict(dict)
        self._ended_on: dict[str, dict[str, Stay]] = defaultdict(dict)

    def __len__(self) -> int:
        """How many runs live."""
        return len(self._living)

    def began(self, run: str, stay: Stay) -> None:
        """Note a living run, once. run: its attempt's UID."""
        if run in self._living or run in self._ended:
            return
        self._living[run] = self._living_on[stay.node][run] = _Living(stay)
        if len(self._living) > self._most[1]:
            self._drop(next(iter(self._living)))

    def ended(self, run: str, stay: Stay) -> Mapping[str, float]:
        """Note a run's end, once or again; ``stay`` has both times.

        Return how many of each kind were beside it on average; empty for a run of no time.
        """
        living = self._drop(run) or _Living(stay)
        living.stay = stay
        beside = self._beside(run, living)
        self.remember(run, stay)
        return beside

    def remember(self, run: str, stay: Stay) -> None:
        """Note a run that ended before anybody looked, such as one that the store knows."""
        if run in self._ended:
            return
        on_node = self._ended_on[stay.node]
        self._ended[run] = on_node[run] = stay
        if len(on_node) > ENDED_KEPT_ON_A_NODE:
            self._add_up(next(iter(on_node)))
        elif len(self._ended) > self._most[0]:
            self._add_up(next(iter(self._ended)))

    def left(self, run: str) -> None:
        """Forget a living run whose end nobody saw: it must not count for ever."""
        self._drop(run)

    def residents(self) -> dict[str, Counter[str]]:
        """Return the living runs on each node: node -> kind -> how many."""
        return {
            node: Counter(each.stay.kind for each in living.values())
            for node, living in self._living_on.items()
        }

    def _beside(self, run: str, living: _Living) -> Mapping[str, float]:
        stay = living.stay
        began_s = stay.started_s
        runtime_s = (stay.ended_s or began_s) - began_s
        if runtime_s <= 0:
            return {}
        over_s = began_s + runtime_s
        shared_s = defaultdict(float, living.shared_s)
        others = [each.stay for each in self._living_on.get(stay.node, {}).values()]
        ended = self._ended_on.get(stay.node, {})
        others += [each for name, each in ended.items() if name != run]
        # The same as ``Stay.shared_s``: each end looks at hundreds of runs, and few of them met it.
        for other in others:
            until_s = other.ended_s
            if until_s is None or until_s > over_s:
                until_s = over_s
            since_s = other.started_s
            since_s = max(since_s, began_s)
            if until_s > since_s:
                shared_s[other.kind] += until_s - since_s
        return {kind: each_s / runtime_s for kind, each_s in shared_s.items() if each_s > 0}

    def _add_up(self, run: str) -> None:
        """Forget a run that ended; those that live add up what they shared with it."""
        old = self._ended.pop(run)
        _forget(self._ended_on, old.node, run)
        ended_s = old.started_s if old.ended_s is None else old.ended_s
        for living in self._living_on.get(old.node, {}).values():
            shared_s = living.stay.shared_s(old.started_s, ended_s)
            if shared_s > 0:
                living.add(old.kind, shared_s)

    def _drop(self, run: str) -> _Living | None:
        living = self._living.pop(run, None)
        if living is not None:
            _forget(self._living_on, living.stay.node, run)
        return living


def bounded_beside(
    beside: Mapping[str, float], most_bytes: int = MOST_BESIDE_BYTES
) -> dict[str, float]:
    """Return it in so many bytes of JSON: the kinds that were there longest, others as one.

    UNLABELLED is never one of the others: it counts cores, they count tasks.
    """
    kept: dict[str, float] = {}
    others, left_bytes = 0.0, most_bytes - _entry_bytes(OTHERS)
    for kind, count in sorted(
        beside.items(), key=lambda item: (item[0] != UNLABELLED, -item[1], item[0])
    ):
        left_bytes -= _entry_bytes(kind)
        if left_bytes < 0 or kind == OTHERS:
            others += count
        elif rounded := round(min(count, MOST_BESIDE), 3):
            kept[kind] = rounded
    rounded = round(min(others, MOST_BESIDE), 3)
    return {**kept, OTHERS: rounded} if rounded else kept


def with_unlabelled(beside: Mapping[str, float], cores: float | None) -> dict[str, float]:
    """Add what ran there without a label. cores: its mean use; None if nobody said."""
    if cores is None:
        return dict(beside)
    return bounded_beside({**beside, UNLABELLED: cores})


def _entry_bytes(kind: str) -> int:
    return len(kind.encode()) + _AROUND_A_NAME


def _forget(by_node: dict[str, dict[str, T]], node: str, run: str) -> None:
    del by_node[node][run]
    if not by_node[node]:
        del by_node[node]
