"""The room left on nodes, by requests and priorities, and pods that wait for the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.asks import amounts_of, asked_by, fits
from plimsoll_operator.ordering.room import Awaited, RoomBook, Taker
from tests.builders.pods import JOB_UID, APod, a_pod

NODE = {"status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3", "a.dev/gpu": "1"}}}
MIB = 2**20


def asked(pod: APod) -> dict[str, int]:
    return dict(asked_by(pod.built()))


def running(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    pod = a_pod().named(name, f"uid-{name}").labelled("train").asking(None).with_cpu(cpu)
    return pod.with_spec(nodeName="n", **spec).with_status(phase="Running").built()


def free(book: RoomBook, priority: int = 0, now_s: float = 0.0) -> int:
    (place,) = book.places(priority, now_s)
    return place.free["cpu"]


def awaited(*takers: Taker, priority: int = 0) -> Awaited:
    return Awaited(10.0, priority, list(takers))


@pytest.fixture
def book() -> RoomBook:
    made = RoomBook()
    made.see_node("n", "host-n", NODE)
    return made


def test_a_pod_asks_for_its_containers_and_itself() -> None:
    pod = a_pod().asking("100Mi").with_cpu("500m")
    beside = pod.with_container("beside", resources={"limits": {"cpu": "1", "a.dev/gpu": "1"}})
    assert asked(beside) == {"cpu": 1500, "memory": 100 * MIB, "a.dev/gpu": 1, "pods": 1}


def test_ordinary_init_containers_count_one_by_one_and_sidecars_beside_all() -> None:
    pod = (
        a_pod()
        .asking("100Mi")
        .with_init_container("large", resources={"requests": {"memory": "300Mi"}})
    )
    assert asked(pod)["memory"] == 300 * MIB
    sidecar = pod.with_sidecar("proxy", resources={"requests": {"memory": "50Mi"}})
    assert asked(sidecar)["memory"] == 300 * MIB


def test_what_a_runtime_class_adds_counts() -> None:
    pod = a_pod().asking("100Mi").with_spec(overhead={"memory": "20Mi"})
    assert asked(pod)["memory"] == 120 * MIB


def test_what_cannot_be_read_asks_for_nothing() -> None:
    assert amounts_of({"cpu": "much", "memory": None, "pods": "3"}) == {"pods": 3}
    assert amounts_of("odd") == {}


def test_a_node_has_no_gpu_that_it_does_not_name_and_enough_of_the_rest() -> None:
    assert fits((("cpu", 64000),), {})
    assert not fits((("a.dev/gpu", 1),), {})
    assert fits((("a.dev/gpu", 1),), {"a.dev/gpu": 1})


def test_pods_take_room_until_they_end_or_go(book: RoomBook) -> None:
    book.see(running("a"), gone=False)
    book.see(running("b"), gone=False)
    assert free(book) == 0
    book.see({**running("a"), "status": {"phase": "Succeeded"}}, gone=False)
    assert free(book) == 1000
    book.see(running("b"), gone=True)
    assert free(book) == 2000


def test_pods_of_no_task_are_those_that_were_listed_last(book: RoomBook) -> None:
    book.set_others([running("a"), {**running("b"), "status": {"phase": "Failed"}}])
    assert free(book) == 1000
    book.set_others([])
    assert free(book) == 2000


def test_what_is_of_lower_priority_takes_no_room(book: RoomBook) -> None:
    book.see(running("low", priority=-10), gone=False)
    assert (free(book, 0), free(book, -10)) == (2000, 1000)


def test_who_is_awaited_counts_until_it_is_there_or_the_time_is_up(book: RoomBook) -> None:
    book.expect("uid-a", awaited(Taker("n", 0, (("cpu", 1000),), "shop/train")))
    assert (free(book, 0, 9.9), book.places(0, 9.9)[0].residents) == (1000, ("shop/train",))
    assert free(book, 0, 10.0) == 2000
    book.expect("uid-a", awaited(Taker("n", 0, (("cpu", 1000),))))
    book.see(running("a"), gone=False)
    assert free(book) == 1000
    book.expect("uid-b", awaited(Taker("n", 0, (("cpu", 1000),))))
    book.await_no_more("uid-b")
    assert free(book) == 1000


def test_the_pods_of_a_job_are_awaited_until_each_is_there(book: RoomBook) -> None:
    one = Taker("n", 0, (("cpu", 500),))
    book.expect(JOB_UID, awaited(one, one))
    assert free(book) == 1000
    first = a_pod().named("job-a", "uid-a").labelled("train").owned_by_job().with_cpu("500m")
    for _ in range(2):  # seen twice, it is still one
        book.see(first.with_spec(nodeName="n").built(), gone=False)
        assert free(book) == 1000
    assert free(book, 0, 10.0) == 1500


def test_a_node_that_takes_no_pods_is_no_place(book: RoomBook) -> None:
    book.close_node("n", NODE)
    assert book.places(0, 0.0) == []
    assert book.capacities() == []


def waiting(created: str, **spec: Any) -> APod:
    pod = a_pod().named("w", f"uid-{created}").labelled("train").with_spec(**spec)
    document = pod.built()
    document["metadata"]["creationTimestamp"] = created
    return APod(document)


def test_who_waits_for_the_scheduler_is_known_by_when_it_came(book: RoomBook) -> None:
    assert book.newest_outsider_s(0) is None
    book.see(waiting("1970-01-01T00:00:05Z").built(), gone=False)
    book.set_others([waiting("1970-01-01T00:00:09Z", priority=-1).built()])
    assert (book.newest_outsider_s(0), book.newest_outsider_s(-1)) == (5.0, 9.0)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(waiting("1970-01-01T00:00:05Z", nodeName="n"), id="it has a node"),
        pytest.param(
            waiting("1970-01-01T00:00:05Z", schedulingGates=[{"name": "x"}]), id="it is gated"
        ),
        pytest.param(
            waiting("1970-01-01T00:00:05Z").annotated({labels.HELD: "{}"}), id="it had its turn"
        ),
        pytest.param(waiting("some day"), id="nobody knows when it came"),
    ],
)
def test_who_is_no_outsider(book: RoomBook, pod: APod) -> None:
    book.see(pod.built(), gone=False)
    assert book.newest_outsider_s(0) is None
