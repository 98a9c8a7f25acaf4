"""The pods that the scheduler has: which of them could take the room for which another waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.asks import Asked
from plimsoll_operator.ordering.queue import Known, Waiter, next_releases
from plimsoll_operator.ordering.room import Awaited, RoomBook, Taker
from plimsoll_operator.ordering.why import Why
from plimsoll_operator.sizing.bounds.selecting import REQUIRED
from tests.builders.pods import JOB_UID, APod, a_pod

HIGH, LOW = 100, 0
ONE_CORE: Asked = (("cpu", 1000), ("pods", 1))
FULL = "0/1 nodes are available: 1 Insufficient cpu. preemption: not helpful."
ELSEWHERE = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."


def passed_over(message: str, cpu: str = "1", **spec: Any) -> APod:
    pod = a_pod().named("low", "uid-low").labelled("low").asking(None).with_cpu(cpu)
    pod = pod.with_spec(priority=LOW, **spec)
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    document = pod.with_status(phase="Pending", conditions=[condition]).built()
    document["metadata"]["creationTimestamp"] = "1970-01-01T00:00:05Z"
    return APod(document)


def running(name: str, priority: int = HIGH, cpu: str = "1") -> APod:
    pod = a_pod().named(name, f"uid-{name}").labelled("high").asking(None).with_cpu(cpu)
    return pod.with_spec(nodeName="n", priority=priority).with_status(phase="Running")


def waiter(number: int, priority: int = HIGH, asked: Asked = ONE_CORE) -> Waiter:
    return Waiter(
        uid=f"uid-{number:02}",
        task="shop/high",
        created_s=1000.0 + number,
        priority=priority,
        asked=asked,
        most_s=600.0,
        alone=True,
        ordered=True,
    )


@pytest.fixture
def book() -> RoomBook:
    """One node of one core, which a pod of high priority fills."""
    made = RoomBook()
    status = {"allocatable": {"cpu": "1", "pods": "110"}}
    made.see_node("n", "n", {"metadata": {"labels": {"pool": "a"}}, "status": status})
    made.see(running("first").built(), gone=False)
    return made


def choose(book: RoomBook, *queue: Waiter, now_s: float = 1100.0) -> list[tuple[str, Why]]:
    known = Known(
        pairs=None,
        now_s=now_s,
        capacities=book.capacities(),
        outsider_s=book.newest_outsider_s,
        has_below=lambda priority: book.has_below(priority, now_s),
        has_from=lambda priority: book.has_from(priority, now_s),
    )
    chosen = next_releases(queue, lambda priority: book.places(priority, now_s), known)
    for each in chosen:
        takers = [
            Taker(place.node, each.waiter.priority, each.waiter.asked) for place in each.takes
        ]
        book.expect(each.waiter.uid, Awaited(now_s + 10.0, each.waiter.priority, takers))
    return [(each.waiter.uid, each.why) for each in chosen]


def test_a_pod_of_low_priority_at_the_scheduler_is_not_given_the_room_first(
    book: RoomBook,
) -> None:
    """It would start in the place that is free next, and be preempted for the one that waits."""
    assert choose(book, waiter(1)) == []
    book.see(passed_over(FULL).built(), gone=False)
    assert choose(book, waiter(1)) == [("uid-01", Why.LOWER)]


def test_so_it_is_with_one_of_no_task_and_with_one_that_had_its_turn(book: RoomBook) -> None:
    book.set_others([passed_over(FULL).unlabelled().built()])
    assert book.has_below(HIGH, 0.0)
    book.set_others([])
    assert not book.has_below(HIGH, 0.0)
    book.see(passed_over(FULL).annotated({labels.HELD: "{}"}).built(), gone=False)
    assert book.has_below(HIGH, 0.0)


def test_too_many_pods_on_a_node_is_lack_of_room(book: RoomBook) -> None:
    book.see(passed_over("0/1 nodes are available: 1 Too many pods.").built(), gone=False)
    assert book.has_below(HIGH, 0.0)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(passed_over(ELSEWHERE), id="no node lacks room for it"),
        pytest.param(passed_over(FULL, cpu="64"), id="it fits on no node"),
        pytest.param(passed_over(FULL, nodeSelector={"pool": "b"}), id="it selects other nodes"),
        pytest.param(passed_over(FULL).with_status(conditions=[]), id="nobody tried it yet"),
        pytest.param(
            passed_over(FULL).with_spec(priority=HIGH),
            id="it has the priority of the one that waits",
        ),
        pytest.param(passed_over(FULL, schedulingGates=[{"name": "x"}]), id="it is gated"),
        pytest.param(passed_over(FULL, nodeName="n"), id="it has a node"),
    ],
)
def test_a_pod_that_takes_no_room_that_comes_ends_nobodys_wait(book: RoomBook, pod: APod) -> None:
    book.see(pod.built(), gone=False)
    assert not book.has_below(HIGH, 0.0)
    assert choose(book, waiter(1)) == []


def test_a_pod_for_which_lasting_pods_leave_no_room_ends_nobodys_wait(book: RoomBook) -> None:
    book.see(passed_over(FULL).built(), gone=False)
    daemon = running("daemon", cpu="100m").unlabelled().restarting("Always")
    book.set_others([daemon.built()])
    assert not book.has_below(HIGH, 0.0)
    book.set_others([daemon.restarting("Never").built()])
    assert book.has_below(HIGH, 0.0)


def by_name(*names: str, key: str = "metadata.name", **more: Any) -> dict[str, Any]:
    fields = [{"key": key, "operator": "In", "values": [name]} for name in names]
    terms = [{"matchFields": [each], **more} for each in fields]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


POOL_B = [{"key": "pool", "operator": "In", "values": ["b"]}]


@pytest.mark.parametrize(
    ("affinity", "takes_room"),
    [
        pytest.param(by_name("n"), True, id="this node"),
        pytest.param(by_name("gone", "n"), True, id="one of two nodes"),
        pytest.param(by_name("elsewhere"), False, id="another node"),
        pytest.param(by_name("n", matchExpressions=POOL_B), False, id="its label is another"),
        pytest.param(by_name("elsewhere", key="metadata.odd"), True, id="an unknown field"),
    ],
)
def test_a_pod_of_a_daemon_set_takes_room_on_the_node_that_it_names(
    book: RoomBook, affinity: dict[str, Any], takes_room: bool
) -> None:
    book.see(passed_over(FULL, affinity=affinity).built(), gone=False)
    assert book.has_below(HIGH, 0.0) is takes_room


def test_a_pod_that_selects_this_node_ends_the_wait(book: RoomBook) -> None:
    book.see(passed_over(FULL, nodeSelector={"pool": "a"}).built(), gone=False)
    assert book.has_below(HIGH, 0.0)


def test_one_that_was_released_into_room_is_no_danger_until_it_is_late(book: RoomBook) -> None:
    book.see(passed_over(FULL).built(), gone=False)
    book.expect("uid-low", Awaited(10.0, LOW, [Taker("n", LOW, ONE_CORE)]))
    assert (book.has_below(HIGH, 9.9), book.has_from(LOW, 9.9)) == (False, False)
    assert (book.has_below(HIGH, 10.0), book.has_from(LOW, 10.0)) == (True, True)


def test_so_are_pods_of_a_job_that_was_resumed_into_room(book: RoomBook) -> None:
    book.see(passed_over(FULL).owned_by_job().built(), gone=False)
    book.expect(JOB_UID, Awaited(10.0, LOW, [Taker("n", LOW, ONE_CORE)]))
    assert not book.has_below(HIGH, 9.9)


def test_what_was_sent_to_the_scheduler_counts_before_it_is_seen(book: RoomBook) -> None:
    assert not book.has_from(HIGH, 0.0)
    book.expect("uid-sent", Awaited(10.0, HIGH, []))
    assert (book.has_from(HIGH, 9.9), book.has_from(HIGH + 1, 9.9)) == (True, False)
    assert not book.has_from(HIGH, 10.0)
    job = Awaited(30.0, HIGH, [Taker("n", HIGH, ONE_CORE)])
    book.expect(JOB_UID, job)
    book.see(running("of-job").owned_by_job().built(), gone=False)
    assert not book.has_from(HIGH, 20.0)


def test_of_a_priority_that_fits_nowhere_one_goes_in_front_and_then_smaller_ones() -> None:
    book = RoomBook()
    for number in range(3):
        status = {"allocatable": {"cpu": "8", "pods": "110"}}
        book.see_node(f"n{number}", f"n{number}", {"status": status})
        busy = running(f"r{number}", cpu="7").with_spec(nodeName=f"n{number}")
        book.see(busy.built(), gone=False)
    large = [waiter(number, asked=(("cpu", 4000), ("pods", 1))) for number in range(30)]
    small = replace(waiter(50, priority=LOW), asked=(("cpu", 500), ("pods", 1)))
    assert choose(book, *large, small) == [("uid-00", Why.TURN)]
    assert choose(book, *large[1:], small) == [("uid-50", Why.TURN)]
    assert choose(book, *large[1:]) == []
