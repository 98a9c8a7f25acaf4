"""Pods that wait for their turn, from the feed and the Lease to the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.admission import guarded
from plimsoll_operator.admission.letting_go.gate_watch import GateWatch
from plimsoll_operator.admission.snapshot import load_snapshot
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import WAIT_S
from plimsoll_operator.feed.wire import ChangeKind, decode_message
from plimsoll_operator.names import labels
from plimsoll_operator.ordering import holding
from plimsoll_operator.ordering.gate import is_held
from plimsoll_operator.ordering.suspended_jobs import waits_for_turn
from plimsoll_operator.processes.admission import Running
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import JobsWait, Order, Placing
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server, a_job
from tests.builders.placing.told_nodes import PREFERRED, tell_nodes
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.servers.admission_servers import (
    TRAIN,
    Caller,
    Pair,
    a_server,
    knowledge_of,
    patch_in,
    until_true,
)

KNOWN = knowledge_of(order=Order.ENFORCE, placing=Placing.ENFORCE)
POD = a_pod().named("train-1", None).asking("2Gi").limited("2Gi").restarting("Never")
SIZED = ("1127Mi", "1127Mi")
LEASE = "plimsoll-controller"
JOBS_RESOURCE = {"group": "batch", "version": "v1", "resource": "jobs"}


def api_settings(folder: Path, api: GateServer) -> dict[str, Any]:
    """The chart's settings of admission where pods may wait."""
    pair = Pair.make(folder / "api")
    token = folder / "api-token"
    token.write_text("a-token")
    return {
        "lease": LEASE,
        "api_url": api.url,
        "api_token_file": token,
        "api_ca_file": pair.certificate_file,
    }


@dataclass(frozen=True)
class Holding:
    """A server that could hold pods. api: the API server beside it."""

    caller: Caller
    server: Running
    board: FeedBoard
    api: GateServer

    async def admitted(self, pod: APod = POD) -> APod:
        return pod.patched(patch_in(await self.caller.review(pod)))

    def counted(self, result: str) -> float | None:
        return self.server.metrics.registry.get_sample_value(
            "plimsoll_order_pods_total", {"result": result}
        )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Of which kind and namespace it is asked whether this replica would let go."""
    watched, questions = GateWatch.watched, list[tuple[str, str | None]]()

    def recorded(watch: GateWatch, namespace: str | None) -> bool:
        questions.append((watch.kind.resource, namespace))
        return watched(watch, namespace)

    monkeypatch.setattr(GateWatch, "watched", recorded)
    return questions


@pytest_asyncio.fixture
async def held(tmp_path: Path) -> AsyncIterator[Holding]:
    """The server has seen somebody lead, and the feed has said that the task is ordered."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(a_gate_server())
        api.renew()
        settings = api_settings(tmp_path, api)
        caller, server, board = await stack.enter_async_context(
            a_server(tmp_path, KNOWN, **settings)
        )
        board.set_ordered([str(TRAIN)])
        tell_nodes(board, TRAIN, node_1=3, node_2=0)
        await until_true(lambda: bool(server.state.ordered) and len(server.state.placing) == 2)
        made = Holding(caller, server, board, api)
        while not is_held((await made.admitted()).built()):
            api.renew()
        yield made


async def test_a_pod_that_waits_has_its_size_and_no_hint_yet(held: Holding) -> None:
    pod = (await held.admitted()).built()
    assert pod["spec"]["schedulingGates"] == [{"name": labels.ORDER_GATE}]
    assert memory_of(APod(pod)) == SIZED
    assert PREFERRED not in str(pod)
    assert labels.DECISION in pod["metadata"]["annotations"]
    before = held.counted("held")
    again = APod(pod).patched(patch_in(await held.caller.review(APod(pod)))).built()
    assert again["spec"] == pod["spec"]
    assert held.counted("held") == before


async def test_it_is_asked_whether_the_pods_namespace_lets_go(
    asked: list[tuple[str, str | None]], held: Holding
) -> None:
    asked.clear()
    await held.admitted()
    assert asked == [("pods", "shop")]


async def test_who_does_not_wait_gets_its_hint(held: Holding) -> None:
    held.board.set_ordered(None)
    await until_true(lambda: not held.server.state.ordered)
    pod = (await held.admitted()).built()
    assert "schedulingGates" not in pod["spec"]
    assert PREFERRED in str(pod)


async def test_while_the_controller_is_silent_nobody_waits(
    held: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "MOST_UNHEARD_S", -1.0)
    assert not is_held((await held.admitted()).built())
    assert held.counted("silent") == 1


async def test_an_error_in_it_costs_a_pod_nothing_but_its_order(
    held: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("of a test")

    monkeypatch.setattr(guarded, "hold_for", fails)
    pod = await held.admitted()
    assert memory_of(pod) == SIZED
    assert held.counted("error") == 1


async def test_the_controller_is_asked_often_where_pods_may_wait(tmp_path: Path) -> None:
    async with a_gate_server() as api:
        settings = api_settings(tmp_path, api)
        async with a_server(tmp_path, KNOWN, **settings) as (_, server, _board):
            assert server.freshness.from_feed
    assert WAIT_S * 2 <= holding.MOST_UNHEARD_S


async def test_without_a_lease_nobody_waits(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        board.set_ordered([str(TRAIN)])
        await until_true(lambda: bool(server.state.ordered))
        pod = POD.patched(patch_in(await caller.review(POD)))
        assert not is_held(pod.built())


async def test_who_is_ordered_is_read_back_from_the_copy_on_disk(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        board.set_ordered([str(TRAIN)], jobs=True)
        await until_true(lambda: server.state.orders_jobs)
    state = AdmissionState()
    load_snapshot(tmp_path / "snapshot.jsonl", state)
    assert (set(state.ordered), state.orders_jobs) == ({str(TRAIN)}, True)
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        # The new feed's full message does not mention it, and has replaced the copy from the disk.
        await until_true(lambda: not server.state.ordered)


@pytest.mark.parametrize("entry", [{"tasks": [7]}, {"tasks": ["a/b"] * 99}, {}])
async def test_an_order_that_nobody_understands_is_none(held: Holding, entry: Any) -> None:
    held.board._put((ChangeKind.ORDER, ""), entry)
    await until_true(lambda: not held.server.state.ordered)
    assert not is_held((await held.admitted()).built())


@pytest_asyncio.fixture
async def holding_jobs(tmp_path: Path) -> AsyncIterator[Holding]:
    """As above, and by the policy Jobs wait as a whole."""
    known = knowledge_of(order=Order.ENFORCE, jobs_wait=JobsWait.SUSPENDED)
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(a_gate_server())
        api.renew()
        settings = api_settings(tmp_path, api)
        caller, server, board = await stack.enter_async_context(
            a_server(tmp_path, known, **settings)
        )
        board.set_ordered([str(TRAIN)], jobs=True)
        await until_true(lambda: server.state.orders_jobs)
        made = Holding(replace(caller, url=caller.url.replace("/size", "/job")), server, board, api)
        while not waits_for_turn(await job_admitted(made)):
            api.renew()
        yield made


async def job_admitted(held: Holding, **spec: Any) -> Any:
    job = a_job("train", pod=POD, **spec)
    response = await held.caller.review(job, resource=JOBS_RESOURCE)
    return APod(job).patched(patch_in(response)).built()


def jobs_counted(held: Holding, result: str) -> float | None:
    return held.server.metrics.registry.get_sample_value(
        "plimsoll_order_jobs_total", {"result": result}
    )


async def test_a_job_that_waits_is_sized_and_asked_for_twice_alike(holding_jobs: Holding) -> None:
    job = await job_admitted(holding_jobs)
    template = job["spec"]["template"]
    assert template["metadata"]["annotations"][labels.MAY_WAIT] == "false"
    assert labels.HELD in template["metadata"]["annotations"]
    # The queue finds room by the template's request; its limit stays.
    assert memory_of(APod(template)) == (SIZED[0], "2Gi")
    before = jobs_counted(holding_jobs, "held")
    again = (
        APod(job)
        .patched(patch_in(await holding_jobs.caller.review(job, resource=JOBS_RESOURCE)))
        .built()
    )
    assert again == job
    assert jobs_counted(holding_jobs, "held") == before


async def test_it_is_asked_whether_the_jobs_namespace_lets_go(
    asked: list[tuple[str, str | None]], holding_jobs: Holding
) -> None:
    asked.clear()
    await job_admitted(holding_jobs)
    assert asked == [("jobs", "shop")]


async def test_a_dry_run_of_a_job_is_answered_alike_and_not_counted(
    holding_jobs: Holding,
) -> None:
    before = jobs_counted(holding_jobs, "held")
    job = a_job("train", pod=POD)
    response = await holding_jobs.caller.review(job, resource=JOBS_RESOURCE, dry_run=True)
    assert waits_for_turn(APod(job).patched(patch_in(response)).built())
    assert jobs_counted(holding_jobs, "held") == before


async def test_what_its_author_suspended_is_not_marked(holding_jobs: Holding) -> None:
    job = await job_admitted(holding_jobs, suspend=True)
    assert job["spec"]["suspend"]
    assert not waits_for_turn(job)
    assert jobs_counted(holding_jobs, "chosen") == 1


async def test_an_error_in_it_lets_a_job_start(
    holding_jobs: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("of a test")

    monkeypatch.setattr(guarded, "suspension_of", fails)
    job = await job_admitted(holding_jobs)
    assert "suspend" not in job["spec"]
    assert labels.JOB_ATTEMPTS in job["spec"]["template"]["metadata"]["annotations"]
    assert jobs_counted(holding_jobs, "error") == 1


async def test_an_older_controllers_order_is_one_of_pods(holding_jobs: Holding) -> None:
    holding_jobs.board._put((ChangeKind.ORDER, ""), {"tasks": [str(TRAIN)]})
    await until_true(lambda: not holding_jobs.server.state.orders_jobs)
    assert holding_jobs.server.state.ordered
    assert "suspend" not in (await job_admitted(holding_jobs))["spec"]


def test_an_older_controller_says_nothing_of_it() -> None:
    assert decode_message(FeedBoard("e1").message(0, None)).orders == {}
