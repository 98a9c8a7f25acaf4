"""Finds which of the pods that wait for their turn is next, and the best node for it.

The order is that of the simulation: among the first 15 pods that fit somewhere, the pair of pod and
node that wastes least; a pod that was overtaken 60 times is next. A pod that cannot be ordered is
released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from plimsoll_operator.ordering.asks import Amounts, Asked, times_it_fits
from plimsoll_operator.ordering.fitting import Fitting
from plimsoll_operator.ordering.room import Place
from plimsoll_operator.ordering.why import Why
from plimsoll_predictor.placing.queueing import (
    MOST_OVERTAKEN,
    WINDOW,
    Candidate,
    PairWaste,
    best_turn,
)

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
    barred: bool = False
    """Whether it, or another pod of its namespace, could not be released at the latest try."""


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
    scheduler has without Plimsoll. has_below: whether the scheduler has a pod of lower priority
    that could take room that comes. has_from: whether it has a pod of this priority or more that no
    room awaits. sees: whether it is known which pods are on the nodes.
    """

    pairs: PairWaste | None
    now_s: float
    capacities: Sequence[Amounts]
    outsider_s: Callable[[int], float | None]
    has_below: Callable[[int], bool]
    has_from: Callable[[int], bool]
    sees: bool = True


def next_releases(
    queue: Sequence[Waiter], places: Callable[[int], Sequence[Place]], known: Known
) -> list[Release]:
    """Return all pods that must not wait, or else the one whose turn it is; none while all wait.

    queue: in the order of creation. places: the nodes as a pod of a priority finds them.
    """
    at_once = _at_once(queue, known)
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


def _at_once(queue: Sequence[Waiter], known: Known) -> list[Release]:
    """Return all pods that must not wait, those of the highest priority first.

    If one goes to the scheduler, none of a higher priority waits: the first would take the room of
    the second, and be preempted.
    """
    empty = Fitting(known.capacities)

    def is_sent(waiter: Waiter, why: Why | None) -> bool:
        """Say whether it goes to the scheduler now, which might find room for it."""
        # What others hold does not go yet. Of a Job without a known priority, the pods show theirs
        # as soon as they wait for the scheduler.
        stays = why in (None, Why.OTHERS, Why.UNRANKED) or waiter.barred
        return not stays and bool(empty.of(waiter.asked))

    whys = [_why_at_once(waiter, len(queue) - at, known, empty) for at, waiter in enumerate(queue)]
    lowest = min(
        (waiter.priority for waiter, why in zip(queue, whys, strict=True) if is_sent(waiter, why)),
        default=None,
    )
    going = [
        Release(waiter, why or Why.LOWER)
        for waiter, why in zip(queue, whys, strict=True)
        if why is not None or (lowest is not None and waiter.priority > lowest)
    ]
    return sorted(going, key=lambda release: -release.waiter.priority)


def _why_at_once(waiter: Waiter, at_or_behind: int, known: Known, empty: Fitting) -> Why | None:
    """Say why a pod must not wait, whatever else waits.

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
    if not empty.takes(waiter.asked, waiter.pods):
        return Why.LARGE
    return _why_beside(waiter, known)


def _why_beside(waiter: Waiter, known: Known) -> Why | None:
    """Say why a pod must not wait beside those that the scheduler has."""
    if known.has_below(waiter.priority):
        return Why.LOWER
    outsider_s = known.outsider_s(waiter.priority)
    # Times are whole seconds: nobody knows which of two pods of the same second came first.
    return Why.OUTSIDE if outsider_s is not None and outsider_s >= waiter.created_s else None


def _turn(
    queue: Sequence[Waiter], places: Callable[[int], Sequence[Place]], known: Known
) -> Release | None:
    """Choose among those of the highest priority.

    One of a lower priority goes only where none of a higher one fits, and the scheduler has one of
    the highest, which it keeps in front.
    """
    ranks = sorted({waiter.priority for waiter in queue}, reverse=True)
    top = [waiter for waiter in queue if waiter.priority == ranks[0]]
    late = next((each for each in top if each.overtaken >= MOST_OVERTAKEN), None)
    if late is not None:
        return Release(late, Why.OVERTAKEN)
    for rank in ranks:
        nodes = places(rank)
        where = Fitting([place.free for place in nodes])
        group = (waiter for waiter in queue if waiter.priority == rank)
        fitting = (waiter for waiter in group if where.takes(waiter.asked, waiter.pods))
        window = list(islice(fitting, WINDOW))
        if window and rank < ranks[0] and not known.has_from(ranks[0]):
            return Release(top[0], Why.TURN)
        if window:
            return _best(window, nodes, where, known)
    return None


def _best(
    window: Sequence[Waiter], nodes: Sequence[Place], where: Fitting, known: Known
) -> Release:
    fitting = [where.of(waiter.asked) for waiter in window]
    candidates = [
        Candidate(waiter.task, waiter.overtaken, _wanted(fits, nodes))
        for waiter, fits in zip(window, fitting, strict=True)
    ]
    turn = best_turn(candidates, [place.residents for place in nodes], known.pairs)
    waiter, order = window[turn.job], [nodes[node] for node in turn.nodes]
    # All pods of a Job need room, also where none can prefer to go.
    rest = (nodes[at] for at in fitting[turn.job] if at not in turn.nodes)
    rooms = (
        place
        for place in chain(order, rest)
        for _ in range(times_it_fits(waiter.asked, place.free, waiter.pods))
    )
    takes = tuple(islice(rooms, waiter.pods))
    return Release(waiter, Why.TURN, tuple(order[:MOST_NAMED]), takes)


def _wanted(fitting: Sequence[int], nodes: Sequence[Place]) -> Sequence[int]:
    """Of the nodes on which a pod fits, those that it can prefer; all of them if there are none."""
    return [at for at in fitting if nodes[at].host is not None] or fitting
