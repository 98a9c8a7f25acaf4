"""The controller releases pods in their turn, and all at once where nobody wants an order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering import held_pods, releases, troubled_namespaces
from plimsoll_operator.controller.ordering.ordered_tasks import OrderedTasks
from plimsoll_operator.controller.ordering.other_pods import LIST_EVERY_S, SEEN_FOR_S, OtherPods
from plimsoll_operator.controller.ordering.releases import (
    AGAIN_AFTER_S,
    REFUSED_FOR_S,
    RENEW_EVERY_S,
    TRIES,
)
from plimsoll_operator.controller.ordering.troubled_namespaces import FIRST_PAUSE_S
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.client import ANSWER_WITHIN_S
from plimsoll_operator.ordering import queue
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_operator.ordering.queue import Waiter, in_order
from tests.builders.controller.turns import (
    CPU,
    OTHERS,
    WAIT,
    Queueing,
    a_node,
    a_queue,
    runs,
    waits,
)
from tests.builders.pods import a_pod


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    async with a_queue() as made:
        yield made


@pytest.mark.slow
async def test_each_goes_where_it_gets_along_and_no_further_than_there_is_room(
    queueing: Queueing,
) -> None:
    for number in range(4):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-2", "cpu-3"}
    assert queueing.prefers("cpu-0") == ["node-2"]
    # Both go at once: either may be answered first.
    assert sorted(queueing.told[-2:]) == [("Released", "cpu-0"), ("Released", "cpu-1")]
    await queueing.look()
    assert queueing.server.held == {"cpu-2", "cpu-3"}


async def test_who_gets_along_overtakes_and_that_is_counted(queueing: Queueing) -> None:
    queueing.see(runs("third", "node-2"))
    queueing.see(waits("cpu-0"), created=1)
    queueing.see(waits("wait-0", WAIT), created=2)
    await queueing.look()
    assert queueing.server.held == {"cpu-0"}
    assert queueing.prefers("wait-0") == ["node-1"]
    (first,) = queueing.releases.held.queue(lambda _task: True)
    assert first.overtaken == 1


@pytest.mark.slow
async def test_room_that_comes_is_used(queueing: Queueing) -> None:
    for number in range(3):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-2"}
    queueing.see(runs("cpu-0", "node-2"))
    queueing.see(runs("cpu-1", "node-1"))
    await queueing.look(20.0)  # no pod is awaited any more: they exist
    assert queueing.server.held == {"cpu-2"}
    queueing.see(runs("computes", "node-1").with_status(phase="Succeeded"))
    await queueing.look()
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_pods_of_no_task_take_room(queueing: Queueing) -> None:
    other = a_pod().named("web", "uid-web").unlabelled().with_cpu("2")
    queueing.server.has(other.with_spec(nodeName="node-1").with_status(phase="Running"))
    for number in range(2):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-1"}
    queueing.server.pods["web"]["status"]["phase"] = "Succeeded"
    await queueing.look(10.0)
    assert queueing.server.held == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"order": "never"}, id="the policy wants no order any more"),
        pytest.param({"order": "enforce", "mode": "off"}, id="it is switched off"),
        pytest.param({"order": "enforce", "paused": True}, id="it is paused"),
        pytest.param(None, id="the policy is gone"),
    ],
)
async def test_where_nobody_wants_an_order_all_go(
    queueing: Queueing, spec: dict[str, Any] | None
) -> None:
    for number in range(4):
        queueing.see(waits(f"cpu-{number}", cpu="2"), created=number)
    await queueing.look()
    assert len(queueing.server.held) == 4
    queueing.policies.set_namespace_spec("shop", spec)
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.ordered == set()
    assert queueing.prefers("cpu-0") == []


@pytest.mark.slow
async def test_all_who_are_not_to_wait_go_by_one_look_at_the_queue(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue may be long, and is sorted on the event loop."""
    for number in range(20):
        queueing.see(waits(f"cpu-{number}", cpu="2"), created=number)
    queueing.policies.set_namespace_spec("shop", None)
    sorted_ones: list[int] = []

    def counted(waiters: Iterable[Waiter]) -> list[Waiter]:
        found = in_order(waiters)
        sorted_ones.append(len(found))
        return found

    monkeypatch.setattr(held_pods, "in_order", counted)
    await queueing.look()
    assert queueing.server.held == set()
    assert sorted_ones == [20, 0]


@pytest.mark.slow
async def test_who_waits_behind_a_crowd_waits_however_long_the_crowd_takes(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MOST_HELD", 2)
    monkeypatch.setattr(troubled_namespaces, "SLOW_S", 10 * SEEN_FOR_S)
    for number in range(4):
        queueing.see(waits(f"cpu-{number}", cpu="2"), created=number)
    patch = ApiServer.patch

    async def takes_long(api: ApiServer, path: str, body: Any) -> dict[str, Any]:
        queueing.clock[0] += SEEN_FOR_S
        return await patch(api, path, body)

    monkeypatch.setattr(ApiServer, "patch", takes_long)
    await queueing.look()
    await queueing.look()
    assert queueing.server.held == {"cpu-2", "cpu-3"}


@pytest.mark.slow
async def test_nobody_waits_for_longer_than_may_be(queueing: Queueing) -> None:
    queueing.see(waits("large", cpu="2"))
    await queueing.look()
    assert queueing.server.held == {"large"}
    await queueing.look(MOST_WAIT_S - 60.0)
    assert queueing.server.held == {"large"}
    await queueing.look(60.0)
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_whom_somebody_else_holds_too_is_let_go_by_us_alone(queueing: Queueing) -> None:
    queueing.see(waits("both", CPU, OTHERS, cpu="2"))
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.server.pods["both"]["spec"]["schedulingGates"] == [OTHERS]


async def test_who_fits_on_no_node_waits_for_the_scheduler(queueing: Queueing) -> None:
    queueing.see(waits("huge", cpu="64"))
    await queueing.look()
    assert queueing.server.held == set()


async def test_a_later_pod_that_the_scheduler_has_ends_the_wait_of_earlier_ones(
    queueing: Queueing,
) -> None:
    queueing.see(waits("early", cpu="2"), created=1)
    queueing.see(waits("late", cpu="2"), created=9)
    await queueing.look()
    assert queueing.server.held == {"early", "late"}
    outside = a_pod().named("outside", "uid-o").labelled("other").with_cpu("2")
    queueing.see(outside, created=5)
    await queueing.look()
    assert queueing.server.held == {"late"}


@pytest.mark.slow
async def test_a_pod_that_changes_under_a_release_is_looked_at_again(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    queueing.server.meddle = 2
    await queueing.look()
    assert queueing.server.held == set()


async def test_a_pod_that_went_is_forgotten(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    del queueing.server.pods["cpu-0"]
    await queueing.look()
    assert len(queueing.releases.held) == 0


async def test_whose_label_somebody_took_away_is_let_go(queueing: Queueing) -> None:
    pod = waits("large", cpu="2")
    queueing.see(pod)
    await queueing.look()
    assert queueing.server.held == {"large"}
    # The watch reports its old state as gone; the API server has it without the label.
    queueing.releases.see(queueing.server.has(pod), gone=True)
    queueing.server.pods["large"]["metadata"]["labels"] = {}
    await queueing.look()
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_a_pod_that_was_deleted_is_asked_for_once(queueing: Queueing) -> None:
    pod = waits("large", cpu="2")
    queueing.see(pod)
    document = queueing.server.pods.pop("large")
    queueing.releases.see(document, gone=True)
    await queueing.look()
    assert len(queueing.releases.held) == 0


@pytest.mark.slow
async def test_who_may_not_remove_gates_has_none_made(queueing: Queueing) -> None:
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}
    queueing.server.permitted = False
    queueing.see(waits("cpu-0"))
    await queueing.look()
    await queueing.look()
    assert queueing.ordered == set()
    queueing.server.permitted = True
    await queueing.look(REFUSED_FOR_S)
    assert queueing.server.held == set()
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}


async def test_a_rule_against_names_of_hosts_costs_a_pod_its_preference(
    queueing: Queueing,
) -> None:
    queueing.server.hosts_refused = True
    queueing.see(waits("cpu-0"))
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.prefers("cpu-0") == []


async def test_where_karpenter_makes_nodes_no_released_pod_names_hosts(
    queueing: Queueing,
) -> None:
    node = a_node("node-3")
    node["metadata"]["labels"] = {"karpenter.sh/nodepool": "default"}
    queueing.releases.see_node(node, gone=False)
    queueing.see(waits("cpu-0"))
    queueing.has_job("job-0", created=1)
    await queueing.look(2.0)
    assert (queueing.server.held, queueing.server.suspended) == (set(), set())
    assert "affinity" not in queueing.server.pods["cpu-0"]["spec"]
    assert "affinity" not in queueing.server.jobs["job-0"]["spec"]["template"]["spec"]


@pytest.mark.slow
async def test_a_pod_that_changes_all_the_time_keeps_nobody_waiting(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"), created=1)
    queueing.see(waits("cpu-1"), created=2)
    queueing.server.meddle, queueing.server.meddles_with = TRIES, "cpu-0"
    await queueing.look()
    assert queueing.server.held == {"cpu-0"}
    await queueing.look(AGAIN_AFTER_S)
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_a_call_that_is_never_answered_stops_the_queue_for_seconds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(releases, "ANSWER_WITHIN_S", 0.5)
    monkeypatch.setattr(releases, "UNREACHABLE_PAUSE_S", 0.0)
    async with a_queue() as queueing:
        queueing.see(waits("cpu-0"))
        queueing.server.silent = True
        # Jobs and pods without a task are listed, too: none of these calls gets an answer.
        await asyncio.wait_for(queueing.look(LIST_EVERY_S), 30.0)
        assert queueing.server.held == {"cpu-0"}
        queueing.server.silent = False
        await queueing.look(FIRST_PAUSE_S)
        assert queueing.server.held == set()


@pytest.mark.slow
async def test_who_is_held_goes_though_nobody_can_say_who_is_ordered(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}

    async def fails(self: OrderedTasks, now_s: float) -> None:
        raise RuntimeError("of a test")

    monkeypatch.setattr(OrderedTasks, "renew", fails)
    queueing.see(waits("cpu-0"))
    await queueing.look(RENEW_EVERY_S)
    assert queueing.server.held == set()
    assert queueing.ordered == set()


@pytest.mark.slow
async def test_while_pods_of_no_task_cannot_be_listed_nobody_waits_for_long(
    queueing: Queueing,
) -> None:
    queueing.see(waits("large", cpu="2"))
    await queueing.look()
    assert queueing.server.held == {"large"}
    queueing.server.lists = False
    await queueing.look(SEEN_FOR_S - 1.0)
    assert queueing.server.held == {"large"}
    await queueing.look(2.0)
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_a_list_of_pods_of_no_task_that_takes_long_stops_no_turns(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    queueing.see(waits("large", cpu="2"))
    await queueing.look()
    monkeypatch.setattr(releases, "OTHERS_WITHIN_S", 0.05)
    monkeypatch.setattr(OtherPods, "list", lambda _self: asyncio.Event().wait())
    queueing.see(waits("cpu-0"), created=1)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.held == {"large"}
    # What is known grows old, and the list may come at any moment: nobody is let go for that.
    queueing.releases.others._asked_s = queueing.clock[0] + SEEN_FOR_S
    await queueing.look(SEEN_FOR_S)
    assert queueing.server.held == {"large"}
    await queueing.look(ANSWER_WITHIN_S)
    assert queueing.server.held == set()
    queueing.releases.others.stop()


@pytest.mark.slow
async def test_a_controller_that_ends_has_no_more_gates_made(queueing: Queueing) -> None:
    running = asyncio.create_task(queueing.releases.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert queueing.ordered == set()


@pytest.mark.slow
async def test_looks_that_take_long_leave_the_event_loop_to_others(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests_s: list[float] = []

    async def rest(delay_s: float, _result: object = None) -> None:
        rests_s.append(delay_s)
        if len(rests_s) > 2:
            raise asyncio.CancelledError

    queueing.see(waits("cpu-0"))
    ticks = iter(range(0, 1000, 2))
    queueing.releases.monotonic_s = lambda: float(next(ticks))
    queueing.releases._began_s = -1000.0
    monkeypatch.setattr(asyncio, "sleep", rest)
    with pytest.raises(asyncio.CancelledError):
        await queueing.releases.run()
    # After a release, and after the last look.
    assert rests_s[0] >= 2.0
    assert rests_s[-1] >= 18.0
