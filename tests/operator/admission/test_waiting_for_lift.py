"""A pod that its engine makes before its run's lift is known gets its answer a moment later."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.admission import server as serving
from plimsoll_operator.admission.waiting_for_lift import awaited_lift, longest_s
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.processes.admission import Running
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import APod, a_pod, decision_of, memory_of
from tests.rigs.servers.admission_servers import TRAIN, a_server, patch_in, until_true

LIFT = Lift(256 * MIB, 2, 128 * MIB)


def a_try(number: int) -> APod:
    its = {"dag_id": "etl", "task_id": "train", "run_id": "r", "try_number": str(number)}
    return a_pod().asking("128Mi").limited("128Mi").with_labels(its)


def run() -> str:
    identity = identify(a_try(2).built())
    assert identity is not None
    assert identity.run is not None
    return identity.run


def known(*lifts: Lift, mode: Mode = Mode.ENFORCE) -> Knowledge:
    return Knowledge(task=TRAIN, policy=Policy(mode=mode), lifts={run(): lift for lift in lifts})


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that waits for a lift waits longer than any pause of the machine."""
    monkeypatch.setattr("plimsoll_operator.admission.waiting_for_lift.LONGEST_S", 3600.0)


def waited(server: Running, result: str) -> float:
    name = "plimsoll_admission_waited_total"
    return server.metrics.registry.get_sample_value(name, {"result": result}) or 0.0


@pytest.mark.usefixtures("patient")
async def test_it_gets_the_lift_that_comes_meanwhile(tmp_path: Path) -> None:
    async with a_server(tmp_path, known()) as (caller, server, board):
        review = asyncio.create_task(caller.review(a_try(2)))
        await until_true(lambda: server.server.waiting == 1)
        board.publish(known(LIFT))
        sized = a_try(2).patched(patch_in(await review))
        assert memory_of(sized) == ("256Mi", "256Mi")
        assert (waited(server, "lifted"), waited(server, "in-vain")) == (1, 0)
        assert server.server.waiting == 0


async def test_without_a_lift_it_is_answered_by_what_is_known(tmp_path: Path) -> None:
    async with a_server(tmp_path, known()) as (caller, server, _):
        at_once = replace(caller, url=f"{caller.url}?timeout=0s")
        sized = a_try(2).patched(patch_in(await at_once.review(a_try(2))))
        assert memory_of(sized) == ("128Mi", "128Mi")
        assert (waited(server, "lifted"), waited(server, "in-vain")) == (0, 1)


@pytest.mark.usefixtures("patient")
async def test_where_too_many_wait_it_is_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_WAITING", 1)
    async with a_server(tmp_path, known()) as (caller, server, board):
        first = asyncio.create_task(caller.review(a_try(2)))
        await until_true(lambda: server.server.waiting == 1)
        assert decision_of(a_try(2).patched(patch_in(await caller.review(a_try(2)))))
        assert server.server.waiting == 1
        board.publish(known(LIFT))
        await first


@pytest.mark.usefixtures("patient")
async def test_who_waits_is_answered_when_the_server_drains(tmp_path: Path) -> None:
    async with a_server(tmp_path, known()) as (caller, server, _):
        review = asyncio.create_task(caller.review(a_try(2)))
        await until_true(lambda: server.server.waiting == 1)
        server.drain()
        await until_true(lambda: server.server.waiting == 0)
        assert (await review)["allowed"] is True


async def test_nothing_is_waited_for_while_the_controller_is_away(tmp_path: Path) -> None:
    async with a_server(tmp_path, known()) as (caller, server, _):
        server.state.unhealed = "the store cannot be written"
        sized = a_try(2).patched(patch_in(await caller.review(a_try(2))))
        assert memory_of(sized) == ("128Mi", "128Mi")
        assert waited(server, "in-vain") == 0


def noted() -> APod:
    state = AdmissionState(tasks={TRAIN: known()})
    return a_try(2).patched(size(a_try(2).built(), state).patch)


@pytest.mark.parametrize(
    ("pod", "knowledge", "is_early"),
    [
        pytest.param(a_try(2), known(), True, id="a second try of which nothing is known"),
        pytest.param(a_try(3), known(LIFT), True, id="a third after a lift for the second"),
        pytest.param(a_try(1), known(), False, id="a first try"),
        pytest.param(a_try(2), known(LIFT), False, id="its lift is there"),
        pytest.param(a_try(2), known(mode=Mode.RECOMMEND), False, id="nothing is enforced"),
        pytest.param(a_try(2), known(mode=Mode.OFF), False, id="its mode is off"),
        pytest.param(noted(), known(), False, id="it has waited"),
        pytest.param(a_pod(), known(), False, id="an attempt that nobody counts"),
        pytest.param(a_try(2).unlabelled(), known(), False, id="a pod that is not ours"),
    ],
)
def test_only_later_attempts_whose_lift_may_be_on_its_way_are_early(
    pod: APod, knowledge: Knowledge, is_early: bool
) -> None:
    state = AdmissionState(tasks={TRAIN: knowledge})
    built = pod.built()
    assert (awaited_lift(built, size(built, state), state) is not None) is is_early


@pytest.mark.parametrize(
    ("timeout", "wait_s"),
    [("2s", 1.0), ("1s", 0.5), ("30s", 1.0), (None, 1.0), ("soon", 1.0), ("0s", 0.0)],
)
def test_it_never_waits_longer_than_the_api_server_does(timeout: str | None, wait_s: float) -> None:
    assert longest_s(timeout) == wait_s
