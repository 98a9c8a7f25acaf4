"""Which pod is next: the pair that wastes least, none overtaken for long, none held in vain."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.ordering.asks import Asked
from plimsoll_operator.ordering.fitting import Fitting
from plimsoll_operator.ordering.queue import (
    MOST_HELD,
    MOST_LOOKED_AT,
    MOST_TURNS,
    Release,
    in_order,
)
from plimsoll_operator.ordering.room import Place
from plimsoll_operator.ordering.why import Why
from plimsoll_predictor.placing.queueing import MOST_OVERTAKEN, WINDOW
from tests.builders.placing.queues import CPU, KNOWN, WAIT, Moment, place, waiter

BUSY = (place("with-cpu", CPU), place("with-wait", WAIT))


def test_the_pair_that_wastes_least_is_next() -> None:
    release = Moment((place("with-cpu", CPU),)).next(waiter(1), waiter(2), waiter(3, WAIT))
    assert release is not None
    assert (release.waiter.uid, release.why) == ("uid-0003", Why.TURN)
    assert [each.node for each in release.places] == ["with-cpu"]


def test_of_alike_pods_the_first_is_next_and_goes_where_it_gets_along() -> None:
    release = Moment(BUSY).next(waiter(1), waiter(2))
    assert release is not None
    assert release.waiter.uid == "uid-0001"
    assert [each.node for each in release.places] == ["with-wait", "with-cpu"]


def test_an_empty_node_is_the_first_pods() -> None:
    release = Moment((*BUSY, place("empty"))).next(waiter(1), waiter(2, WAIT))
    assert release is not None
    assert release.waiter.uid == "uid-0001"
    assert release.places[0].node == "empty"


def test_a_node_that_no_pod_can_prefer_is_taken_where_no_other_has_room() -> None:
    """The scheduler avoids a node with a soft taint in the same way."""
    avoided = replace(place("avoided"), host=None)
    release = Moment((avoided, *BUSY)).next(waiter(1), waiter(2, WAIT))
    assert release is not None
    assert [each.node for each in release.places] == ["with-wait", "with-cpu"]
    alone = Moment((avoided, place("full", cores=0))).next(waiter(1))
    assert alone is not None
    assert [each.node for each in alone.takes] == ["avoided"]
    job = Moment((avoided, place("one"))).next(waiter(1, pods=2))
    assert job is not None
    assert [each.node for each in job.takes] == ["one", "avoided"]


def test_turns_are_chosen_at_once_as_one_after_another() -> None:
    draw = random.Random(7)
    for _ in range(100):
        nodes = [
            place(
                f"n{at}", *draw.choices([CPU, WAIT], k=draw.randrange(3)), cores=draw.randrange(4)
            )
            for at in range(4)
        ]
        queue = [
            waiter(at, draw.choice([CPU, WAIT]), draw.randint(1, 2), overtaken=draw.randrange(50))
            for at in range(12)
        ]
        chosen = Moment(nodes).all(*queue)
        waiting, found = queue, list[tuple[str, list[str], tuple[str, ...]]]()
        while len(found) < len(chosen):
            release = Moment(nodes).next(*waiting)
            assert release is not None
            uid = release.waiter.uid
            found.append((uid, [each.node for each in release.places], release.overtakes))
            waiting = [
                replace(each, overtaken=each.overtaken + (each.uid in release.overtakes))
                for each in waiting
                if each.uid != uid
            ]
            nodes = [after(each, release) for each in nodes]
        assert found == [
            (each.waiter.uid, [each.node for each in each.places], each.overtakes)
            for each in chosen
        ]
        assert Moment(nodes).next(*waiting) is None or waiting[0].overtaken >= MOST_OVERTAKEN


def after(node: Place, release: Release) -> Place:
    """The node once a pod was released there."""
    if node.node != release.takes[0].node:
        return node
    free = {name: left - dict(release.waiter.asked)[name] for name, left in node.free.items()}
    return replace(node, free=free, residents=(*node.residents, release.waiter.task))


def test_no_more_turns_are_chosen_at_once_than_soon_end() -> None:
    roomy = replace(place("roomy"), free={"cpu": 100_000, "pods": 100})
    assert len(Moment((roomy,)).all(*(waiter(number) for number in range(99)))) == MOST_TURNS


def test_who_was_overtaken_for_long_ends_the_turns() -> None:
    roomy = replace(place("roomy", CPU), free={"cpu": 9000, "pods": 100})
    late = waiter(0, overtaken=MOST_OVERTAKEN - 2)
    queue = late, *(waiter(number, WAIT) for number in range(1, 9))
    chosen = Moment((roomy,)).all(*queue)
    assert [each.waiter.uid for each in chosen] == ["uid-0001", "uid-0002"]


def test_at_most_five_nodes_are_named() -> None:
    nodes = tuple(place(f"n{number}", WAIT) for number in range(9))
    release = Moment(nodes).next(waiter(1))
    assert release is not None
    assert len(release.places) == 5


def test_without_room_all_wait() -> None:
    assert Moment((place("full", CPU, cores=0),)).next(waiter(1), waiter(2, WAIT)) is None
    assert Moment(()).next() is None


def test_who_is_too_large_for_what_is_free_lets_smaller_ones_go_before() -> None:
    release = Moment(BUSY).next(waiter(1, cores=3), waiter(2))
    assert release is not None
    assert release.waiter.uid == "uid-0002"


def test_of_those_that_fit_only_the_first_are_looked_at() -> None:
    queue = [waiter(number) for number in range(WINDOW)] + [waiter(WINDOW, WAIT)]
    release = Moment((place("with-cpu", CPU),)).next(*queue)
    assert release is not None
    assert release.waiter.uid == "uid-0000"


def test_each_time_that_it_was_overtaken_counts() -> None:
    moment = Moment((place("with-cpu", CPU),))
    queue = waiter(1, overtaken=MOST_OVERTAKEN - 1), waiter(2, WAIT)
    release = moment.next(*queue)
    assert release is not None
    assert release.waiter.task == WAIT  # 1.5 is more than 59 hundredths
    late = moment.next(waiter(1, overtaken=MOST_OVERTAKEN), waiter(2, WAIT))
    assert late is not None
    assert (late.waiter.uid, late.why) == ("uid-0001", Why.OVERTAKEN)


def test_who_was_overtaken_often_waits_for_the_scheduler_where_nothing_is_free() -> None:
    late = Moment((place("full", cores=0),)).next(waiter(1, overtaken=MOST_OVERTAKEN))
    assert late is not None
    assert (late.why, late.places) == (Why.OVERTAKEN, ())


def test_those_who_came_before_are_overtaken() -> None:
    room = Moment(of_priority=lambda priority: () if priority else (place("with-cpu", CPU),))
    room = replace(room, known=replace(KNOWN, has_from=lambda _priority: True))
    release = room.next(waiter(1), waiter(2, priority=5), waiter(3), waiter(4, WAIT))
    assert release is not None
    assert release.overtakes == ("uid-0001", "uid-0003")
    first = room.next(waiter(1), waiter(3))
    assert first is not None
    assert first.overtakes == ()


def test_the_queue_is_in_the_order_of_creation() -> None:
    twins = waiter(7, created_s=1000.0), waiter(3, created_s=1000.0)
    queue = in_order([waiter(2), *twins])
    assert [each.uid for each in queue] == ["uid-0003", "uid-0007", "uid-0002"]


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"ordered": False}, Why.UNORDERED),
        ({"alone": False}, Why.OTHERS),
        ({"created_s": 500.0}, Why.WAITED),
        ({"most_s": 10.0}, Why.WAITED),
        ({"asked": (("cpu", 5000),)}, Why.LARGE),
        ({"asked": (("example.com/gpu", 1),)}, Why.LARGE),
    ],
)
def test_who_cannot_be_ordered_waits_for_nothing(of: dict[str, Any], why: Why) -> None:
    release = Moment((place("full", cores=0),)).next(waiter(1), waiter(2, **of))
    assert release == Release(waiter(2, **of), why)


def test_all_who_wait_for_nothing_go_before_anybody_has_a_turn() -> None:
    queue = waiter(1), waiter(2, ordered=False), waiter(3, cores=9), waiter(4, alone=False)
    whys = [(release.waiter.uid, release.why) for release in Moment(BUSY).all(*queue)]
    assert whys == [
        ("uid-0002", Why.UNORDERED),
        ("uid-0003", Why.LARGE),
        ("uid-0004", Why.OTHERS),
    ]
    turns = Moment(BUSY).all(waiter(1), waiter(5), waiter(6))
    assert [release.why for release in turns] == [Why.TURN, Why.TURN]


def test_where_it_is_not_known_who_is_on_the_nodes_all_go() -> None:
    moment = Moment(BUSY)
    blind = replace(moment, known=replace(moment.known, sees=False))
    release = blind.next(waiter(1))
    assert release == Release(waiter(1), Why.BLIND)


def test_who_came_before_a_pod_without_an_order_goes_to_the_scheduler_too() -> None:
    moment = Moment((place("full", cores=0),))
    with_outsider = replace(
        moment, known=replace(moment.known, outsider_s=lambda _priority: 1001.5)
    )
    assert with_outsider.next(waiter(1), waiter(2)) == Release(waiter(1), Why.OUTSIDE)
    assert with_outsider.next(waiter(2)) is None


def test_of_two_that_came_in_one_second_neither_waits_for_the_other() -> None:
    moment = Moment((place("full", cores=0),))
    same = replace(moment, known=replace(moment.known, outsider_s=lambda _priority: 1001.0))
    assert same.next(waiter(1)) == Release(waiter(1), Why.OUTSIDE)


def test_a_crowd_is_let_go_from_its_front() -> None:
    queue = [waiter(number) for number in range(MOST_HELD + 3)]
    moment = Moment((place("full", cores=0),))
    assert moment.all(*queue) == [Release(each, Why.CROWD) for each in queue[:3]]
    assert moment.all(*queue[3:]) == []


def test_nobody_of_a_lower_priority_goes_before_a_higher_one() -> None:
    release = Moment(BUSY).next(waiter(1), waiter(2, priority=7))
    assert release is not None
    assert release.waiter.uid == "uid-0002"
    # The higher one does not fit, the lower one does: the scheduler gets the higher one first.
    first = Moment(BUSY).next(waiter(1), waiter(2, priority=7, cores=3))
    assert first == Release(waiter(2, priority=7, cores=3), Why.TURN)
    # The scheduler has one in front already: the lower one has its turn, where it gets along.
    known = replace(KNOWN, has_from=lambda priority: priority <= 7)
    second = Moment(BUSY, known=known).next(waiter(1), waiter(2, priority=7, cores=3))
    assert second is not None
    assert (second.waiter.uid, second.places[0].node) == ("uid-0001", "with-wait")
    # Neither fits: both wait.
    full = Moment((place("full", cores=0),))
    assert full.next(waiter(1), waiter(2, priority=7)) is None


def test_each_priority_has_its_own_room() -> None:
    """Pods of a lower priority do not take up room: they would be preempted."""
    moment = Moment(of_priority=lambda priority: BUSY if priority else (place("full", cores=0),))
    assert moment.next(waiter(1)) is None
    release = moment.next(waiter(1), waiter(2, priority=7))
    assert release is not None
    assert release.waiter.uid == "uid-0002"


FULL = Moment((place("full", cores=0),))


def test_nobody_waits_while_the_scheduler_has_a_pod_of_lower_priority() -> None:
    """The scheduler would give that pod the room that comes, and preempt it for the higher one."""
    beside = replace(FULL, known=replace(KNOWN, has_below=lambda priority: priority > 3))
    queue = waiter(1, priority=3), waiter(2, priority=4), waiter(3, priority=5)
    assert beside.all(*queue) == [Release(queue[2], Why.LOWER), Release(queue[1], Why.LOWER)]
    assert beside.all(queue[0]) == []


@pytest.mark.parametrize("of", [{"created_s": 500.0}, {"ordered": False}], ids=str)
def test_if_one_of_a_lower_priority_goes_to_the_scheduler_so_do_all_above(
    of: dict[str, Any],
) -> None:
    low = waiter(1, priority=2, **of)
    queue = low, waiter(2, priority=9), waiter(3, priority=1), waiter(4, priority=2)
    first, second = FULL.all(*queue)
    assert first == Release(queue[1], Why.LOWER)
    assert second.waiter == low


@pytest.mark.parametrize("of", [{"alone": False}, {"cores": 9}], ids=str)
def test_one_that_goes_where_it_takes_no_room_ends_nobodys_wait(of: dict[str, Any]) -> None:
    low = waiter(1, priority=2, **of)
    (release,) = FULL.all(low, waiter(2, priority=9))
    assert release.waiter == low


def test_a_job_whose_priority_is_not_known_ends_nobodys_wait() -> None:
    """Once its pods wait for the scheduler, their priority is known."""
    unranked = waiter(1, priority=0, ranked=False)
    assert FULL.all(unranked, waiter(2, priority=9)) == [Release(unranked, Why.UNRANKED)]


def test_one_that_could_not_be_released_ends_nobodys_wait() -> None:
    """It may never reach the scheduler, and is tried again every minute."""
    barred = waiter(1, created_s=500.0, barred=True)
    assert FULL.all(barred, waiter(2, priority=9)) == [Release(barred, Why.WAITED)]


def test_of_each_priority_the_nodes_are_read_once() -> None:
    """To read them takes as long as the cluster has nodes and pods."""
    asked: list[int] = []

    def places(priority: int) -> Sequence[Place]:
        asked.append(priority)
        return (place("full", cores=0),)

    queue = [waiter(number, priority=number % 3, cores=1 + number) for number in range(300)]
    known = replace(KNOWN, capacities=({"cpu": 1_000_000, "pods": 10},))
    assert Moment(of_priority=places, known=known).all(*queue) == []
    assert asked == [2, 1, 0]


def test_of_those_that_fit_no_more_are_looked_up_than_the_window_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[Asked] = []
    of = Fitting.of

    def counted(self: Fitting, asked: Asked) -> tuple[int, ...]:
        looked_up.append(asked)
        return of(self, asked)

    monkeypatch.setattr(Fitting, "of", counted)
    queue = [waiter(number, asked=(("cpu", 1 + number),)) for number in range(300)]
    roomy = replace(place("roomy"), free={"cpu": 100_000, "pods": 100})
    assert len(Moment((roomy,)).all(*queue)) == MOST_TURNS
    # Each on empty nodes; for each turn, the window on nodes as they are.
    most = len(queue) + MOST_TURNS * 2 * WINDOW
    assert len(looked_up) <= most


def test_a_namespace_whose_releases_fail_takes_one_place_of_those_chosen_at_once() -> None:
    failing = [waiter(at, f"lab/t{at}", barred=True) for at in range(20)]
    others = [waiter(30 + at) for at in range(6)]
    chosen = Moment([place(f"n{at}") for at in range(12)]).all(*failing, *others)
    assert {each.why for each in chosen} == {Why.TURN}
    taken = [each.waiter.task for each in chosen]
    assert taken.count(CPU) == 6
    assert len(taken) == 7


def test_the_more_nodes_the_fewer_turns_are_chosen_at_once() -> None:
    nodes = [place(f"n{at}") for at in range(5000)]
    chosen = Moment(nodes).all(*(waiter(at) for at in range(40)))
    assert len(chosen) == MOST_LOOKED_AT // 5000


def test_while_nothing_is_known_pods_go_as_they_came() -> None:
    moment = Moment((place("two", CPU, CPU), place("one", CPU)))
    untaught = replace(moment, known=replace(moment.known, pairs=None))
    release = untaught.next(waiter(1), waiter(2, WAIT))
    assert release is not None
    assert release.waiter.uid == "uid-0001"
    assert release.places[0].node == "one"
