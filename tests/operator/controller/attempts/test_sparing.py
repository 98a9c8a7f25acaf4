"""Which pods are marked while they run, so that their Job does not count their failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.names import labels
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, decided, killed
from tests.builders.kubernetes.pod_servers import PodServer, a_pod_server
from tests.builders.pods import APod

MARK = {"type": labels.LOWERED, "status": "True"}
SIZED = decided(a_train(), was_bytes=GIB).with_status(phase="Pending")
MARKED = [("PATCH status", "train-1")]


def lowered(name: str = "train-1", mode: Mode = Mode.ENFORCE) -> APod:
    """A Job's pod that asked for more than it has."""
    pod = decided(a_train(name), mode=mode, was_bytes=GIB).owned_by_job()
    return pod.annotated({labels.UNCOUNTED: "true"}).with_status(phase="Pending")


def marks(server: PodServer) -> list[tuple[str, str]]:
    return [call for call in server.calls if call[0] == "PATCH status"]


@pytest.mark.slow
async def test_a_lowered_pod_is_marked_once_before_it_runs(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(lowered())
        await inside.see(lowered())
        assert marks(server) == MARKED
        (condition,) = server.pods["train-1"]["status"]["conditions"]
        assert {**MARK, "reason": "LimitLowered"}.items() <= condition.items()
        await inside.see(APod(server.pods["train-1"]))
        assert marks(server) == MARKED


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(lowered(mode=Mode.RECOMMEND), id="its limit is its author's"),
        pytest.param(lowered().limited("16Gi").asking("16Gi"), id="as much as was written"),
        pytest.param(lowered().with_status(phase="Succeeded"), id="it has ended"),
        pytest.param(SIZED.owned_by_job(), id="its Job counts all"),
        pytest.param(SIZED.annotated({labels.UNCOUNTED: "true"}), id="no Job makes it"),
        pytest.param(
            a_train()
            .owned_by_job()
            .annotated({labels.UNCOUNTED: "true"})
            .with_status(phase="Pending"),
            id="admission never saw it",
        ),
    ],
)
async def test_which_pods_are_not_marked(tmp_path: Path, pod: APod) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(pod)
        await inside.see(pod)
        assert marks(server) == []


@pytest.mark.slow
async def test_after_a_few_failures_of_a_run_the_next_one_counts(tmp_path: Path) -> None:
    """Any end counts: a program that fails at once, or a disk that is always full."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        for number in range(1, 8):
            name = f"train-{number}"
            server.has(lowered(name))
            await inside.see(lowered(name))
            failed = killed(lowered(name))
            if ("PATCH status", name) in server.calls:
                failed = failed.with_status(conditions=[MARK])
            for _ in range(2):  # a repeated event is one failure
                await inside.see(failed)
        assert [name for _, name in marks(server)] == ["train-1", "train-2", "train-3"]


@pytest.mark.slow
async def test_a_pod_that_is_gone_before_it_is_marked_disturbs_nobody(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        await inside.see(lowered())
        assert marks(server) == []


async def test_nor_does_an_api_server_that_is_away(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(lowered())
        assert TRAIN in inside.controller.book
