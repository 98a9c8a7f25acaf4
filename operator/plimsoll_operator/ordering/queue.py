"""Finds which of the pods that wait for their turn is next, and the best node for it.

The order is that of the simulation: among the first 15 pods that fit somewhere, the pair of pod and
node that wastes least; a pod that was overtaken 60 times is next. A pod that cannot be ordered is
released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from plimsoll_operator.ordering.asks import Amounts, Asked, times_it_fits
from plimsoll_operator.ordering.fitting import Fitting
from plimsoll_operator.ordering.room import Awaited, Place, Taker
from plimsoll_operator.ordering.why import Why
from plimsoll_predictor.core.task import namespace_of
from plimsoll_predictor.placing.queueing import (
    MOST_OVERTAKEN,
    WINDOW,
    Candidate,
    PairWaste,
    best_turn,
)

MOST_NAMED: Final = 5
"""The best node, and the four that are next best."""
MOST_TURNS: Final = 20
"""Turns that are chosen at once: their releases need not wait for each other."""
MOST_LOOKED_AT: Final = 20_000
"""Nodes looked at for the turns that are chosen at once, which takes a tenth of a second."""
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

    takes: the node of each of its pods, if they go where they prefer. overtakes: the UIDs of the
    pods of its priority that came before it and still wait.
    """

    waiter: Waiter
    why: Why
    places: tuple[Place, ...] = ()
    takes: tuple[Place, ...] = ()
    overtakes: tuple[str, ...] = ()

    def awaited(self, until_s: float) -> Awaited:
        """Return what its pods take until they are bound."""
        waiter = self.waiter
        takers = [
            Taker(place.node, waiter.priority, waiter.asked, waiter.task) for place in self.takes
        ]
        return Awaited(until_s, waiter.priority, takers)


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
    """Return all pods that must not wait, or else those whose turn it is; none while all wait.

    The turns are as if each were chosen once the one before was released. There are MOST_TURNS at
    most, and only one if it is released to nowhere: then the scheduler must see it first.
    queue: in the order of creation. places: the nodes as a pod of a priority finds them.
    """
    at_once = _at_once(queue, known)
    if at_once or not queue:
        return at_once
    return _turns(queue, places, known)


def in_order(waiters: Iterable[Waiter]) -> list[Waiter]:
    """Return them in the order of creation; those of the same second by their UIDs."""
    return sorted(waiters, key=lambda waiter: (waiter.created_s, waiter.uid))


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


def _turns(
    queue: Sequence[Waiter], places: Callable[[int], Sequence[Place]], known: Known
) -> list[Release]:
    """Choose among those of the highest priority.

    One of a lower priority goes only where none of a higher one fits, and the scheduler has one of
    the highest, which it keeps in front.
    """
    ranks = sorted({waiter.priority for waiter in queue}, reverse=True)
    top = [waiter for waiter in queue if waiter.priority == ranks[0]]
    late = next((each for each in top if each.overtaken >= MOST_OVERTAKEN), None)
    if late is not None:
        return [Release(late, Why.OVERTAKEN)]
    for rank in ranks:
        group = [waiter for waiter in queue if waiter.priority == rank]
        turns = _turns_of(group, list(places(rank)), known)
        if turns and rank < ranks[0] and not known.has_from(ranks[0]):
            return [Release(top[0], Why.TURN)]
        if turns:
            return turns
    return []


def _turns_of(group: list[Waiter], nodes: list[Place], known: Known) -> list[Release]:
    """Choose among those of one priority, until no node has room or one was overtaken for long."""
    where, turns = Fitting([place.free for place in nodes]), list[Release]()
    most_turns = max(1, min(MOST_TURNS, MOST_LOOKED_AT // max(1, len(nodes))))
    while len(turns) < most_turns:
        fitting = (waiter for waiter in group if where.takes(waiter.asked, waiter.pods))
        window = list(islice(fitting, WINDOW))
        if not window:
            break
        waiter, places, taken = _best(window, nodes, where, known)
        at = group.index(waiter)
        earlier = group[:at]
        overtakes = tuple(each.uid for each in earlier)
        takes = tuple(nodes[node] for node in taken)
        turns.append(Release(waiter, Why.TURN, places, takes, overtakes))
        group = [
            *(replace(each, overtaken=each.overtaken + 1) for each in earlier),
            *group[at + 1 :],
        ]
        if any(each.overtaken >= MOST_OVERTAKEN for each in group[:at]):
            break
        if waiter.barred:
            # Its release may hang: meanwhile no other of its namespace keeps a place from others.
            namespace = namespace_of(waiter.task)
            group = [each for each in group if namespace_of(each.task) != namespace]
        for node in taken:
            left = where.take(node, waiter.asked)
            residents = (*nodes[node].residents, waiter.task)
            nodes[node] = replace(nodes[node], free=left, residents=residents)
    return turns


def _best(
    window: Sequence[Waiter], nodes: Sequence[Place], where: Fitting, known: Known
) -> tuple[Waiter, tuple[Place, ...], tuple[int, ...]]:
    """Return the next pod, the nodes that it prefers, and the node that each of its pods takes."""
    fitting = [where.of(waiter.asked) for waiter in window]
    candidates = [
        Candidate(waiter.task, waiter.overtaken, _wanted(fits, nodes))
        for waiter, fits in zip(window, fitting, strict=True)
    ]
    turn = best_turn(candidates, [place.residents for place in nodes], known.pairs)
    waiter = window[turn.job]
    # All pods of a Job need room, also where none can prefer to go.
    rest = (at for at in fitting[turn.job] if at not in turn.nodes)
    rooms = (
        at
        for at in chain(turn.nodes, rest)
        for _ in range(times_it_fits(waiter.asked, nodes[at].free, waiter.pods))
    )
    named = tuple(nodes[at] for at in turn.nodes[:MOST_NAMED])
    return waiter, named, tuple(islice(rooms, waiter.pods))


def _wanted(fitting: Sequence[int], nodes: Sequence[Place]) -> Sequence[int]:
    """Of the nodes on which a pod fits, those that it can prefer; all of them if there are none."""
    return [at for at in fitting if nodes[at].host is not None] or fitting
