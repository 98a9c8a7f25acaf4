"""Finds which of the pods that wait for their turn is next, and the best node for it.

The order is that of the simulation: among the first 15 pods that fit somewhere, the pair of pod and
node that wastes least; a pod that was overtaken 60 times is next. A pod that cannot be ordered is
released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from plimsoll_operator.ordering.asks import Amounts, Asked, fits, times_it_fits
from plimsoll_operator.ordering.room import Place
from plimsoll_operator.ordering.why import Why
from plimsoll_predictor.placing.queueing import Beside, Candidate, best_turn

WINDOW: Final = 15
MOST_OVERTAKEN: Final = 60
MOST_NAMED: Final = 5
"""The best node, and the four that are next best."""
MOST_HELD: Final = 1000
"""If more are held, the first are released, so that all can be released within seconds."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """A pod that waits for its turn, or a Job that starts ``pods`` of them at once.

    task: ``namespace/name``. created_s: Unix seconds. most_s: how long it may wait. alone: whether
    Plimsoll's gate is its only one, and it is in no group. ordered: whether its task's policy has
    an order. pods: how many take room when it is released.
    """

    uid: str
    task: str
    created_s: float
    priority: int
    asked: Asked
    most_s: float
    alone: bool
    ordered: bool
    overtaken: int = 0
    pods: int = 1
    ranked: bool = True
    """Whether its priority is known, and it may preempt."""


@dataclass(frozen=True, slots=True)
class Release:
    """One pod to release. places: the nodes to prefer, the best first; empty for anywhere.

    takes: the node of each of its pods, if they go where they prefer.
    """

    waiter: Waiter
    why: Why
    places: tuple[Place, ...] = ()
    takes: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a pod is chosen.

    pairs: what pairs of tasks waste; None while nothing is known. now_s: Unix seconds.
    capacities: of empty nodes. outsider_s: by priority, when the newest pod was created that the
    scheduler has without Plimsoll. sees: whether it is known which pods are on the nodes.
    """

    pairs: Beside | None
    now_s: float
    capacities: Sequence[Amounts]
    outsider_s: Callable[[int], float | None]
    sees: bool = True


def next_releases(
    queue: Sequence[Waiter], places: Callable[[int], Sequence[Place]], known: Known
) -> list[Release]:
    """Return all pods that must not wait, or else the one whose turn it is; none while all wait.

    queue: in the order of creation. places: the nodes as a pod of a priority finds them.
    """
    empty = _Fitting(known.capacities)
    whys = (
        (waiter, _why_at_once(waiter, len(queue) - at, known, empty))
        for at, waiter in enumerate(queue)
    )
    at_once = [Release(waiter, why) for waiter, why in whys if why is not None]
    if at_once or not queue:
        return at_once
    turn = _turn(queue, places, known)
    return [] if turn is None else [turn]


def in_order(waiters: Iterable[Waiter]) -> list[Waiter]:
    """Return them in the order of creation; those of the same second by their UIDs."""
    return sorted(waiters, key=lambda waiter: (waiter.created_s, waiter.uid))


def overtaken_by(queue: Sequence[Waiter], released: Waiter) -> list[str]:
    """Return the UIDs of those that came before the one released in its turn."""
    earlier = queue[: queue.index(released)]
    return [each.uid for each in earlier if each.priority == released.priority]


def _why_at_once(waiter: Waiter, at_or_behind: int, known: Known, empty: _Fitting) -> Why | None:
    """Say why a pod must not wait, whatever other pods do.

    at_or_behind: how many pods wait, from this one on. empty: the nodes without any pods.
    """
    if not waiter.ordered:
        return Why.UNORDERED
    if not waiter.alone:
        return Why.OTHERS
    if not waiter.ranked:
        return Why.UNRANKED
    if known.now_s - waiter.created_s >= waiter.most_s:
        return Why.WAITED
    if not known.sees:
        return Why.BLIND
    if at_or_behind > MOST_HELD:
        return Why.CROWD
    if not empty.takes(waiter):
        return Why.LARGE
    outsider_s = known.outsider_s(waiter.priority)
    # Times are whole seconds: nobody knows which of two pods of the same second came first.
    return Why.OUTSIDE if outsider_s is not None and outsider_s >= waiter.created_s else None


def _turn(
    queue: Sequence[Waiter], places: Callable[[int], Sequence[Place]], known: Known
) -> Release | None:
    """Choose among those of the highest priority; none of a lower priority may go before them."""
    top = max(waiter.priority for waiter in queue)
    group = [waiter for waiter in queue if waiter.priority == top]
    nodes = places(top)
    late = next((each for each in group if each.overtaken >= MOST_OVERTAKEN), None)
    if late is not None:
        return Release(late, Why.OVERTAKEN)
    where = _Fitting([place.free for place in nodes])
    window = [waiter for waiter in group if where.takes(waiter)][:WINDOW]
    if window:
        return _best(window, nodes, where, known)
    lower = [waiter for waiter in queue if waiter.priority < top]
    if any(_has_room(waiter, places) for waiter in _unlike(lower)):
        # The scheduler keeps it in front of the pods that would go now.
        return Release(group[0], Why.TURN)
    return None


def _best(
    window: Sequence[Waiter], nodes: Sequence[Place], where: _Fitting, known: Known
) -> Release:
    candidates = [
        Candidate(waiter.task, waiter.overtaken, where.of(waiter.asked)) for waiter in window
    ]
    turn = best_turn(candidates, [place.residents for place in nodes], known.pairs)
    waiter, order = window[turn.job], [nodes[node] for node in turn.nodes]
    rooms = (
        place
        for place in order
        for _ in range(times_it_fits(waiter.asked, place.free, waiter.pods))
    )
    takes = tuple(islice(rooms, waiter.pods))
    return Release(waiter, Why.TURN, tuple(order[:MOST_NAMED]), takes)


def _has_room(waiter: Waiter, places: Callable[[int], Sequence[Place]]) -> bool:
    return _Fitting([place.free for place in places(waiter.priority)]).takes(waiter)


def _unlike(waiters: Iterable[Waiter]) -> Iterable[Waiter]:
    """Return one of each group that asks alike."""
    found: Mapping[tuple[int, Asked, int], Waiter] = {
        (waiter.priority, waiter.asked, waiter.pods): waiter for waiter in waiters
    }
    return found.values()


class _Fitting:
    """The nodes on which pods fit; pods that ask alike are looked up once."""

    def __init__(self, nodes: Sequence[Amounts]) -> None:
        self._nodes = nodes
        self._found: dict[Asked, tuple[int, ...]] = {}

    def of(self, asked: Asked) -> tuple[int, ...]:
        """Return the positions of the nodes that have room."""
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = tuple(
                at for at, free in enumerate(self._nodes) if fits(asked, free)
            )
        return found

    def takes(self, waiter: Waiter) -> bool:
        """Say whether there is room for all of its pods."""
        nodes, left = self.of(waiter.asked), waiter.pods
        if len(nodes) >= left:
            return bool(nodes)
        for at in nodes:
            left -= times_it_fits(waiter.asked, self._nodes[at], left)
        return left <= 0
