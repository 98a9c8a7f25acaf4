"""A controller's actions on agents' alarms, against an API server and a node that remember."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.controller.rescue.expected_raises import PENDING_S
from plimsoll_operator.controller.rescue.lowering import FLAT_S
from plimsoll_operator.controller.rescue.rescues import FULL_S
from plimsoll_operator.controller.tasks.autoscalers import by_namespace
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.names.labels import LENT, RESCUED
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.controller.ledgers import a_final, ended, killed
from tests.builders.controller.rescues import AUTO, Scene, a_scene, of_container, running
from tests.builders.kubernetes.autoscalers import a_vpa
from tests.builders.pods import RUNNING, APod


@pytest.mark.slow
async def test_a_pod_that_nears_its_limit_gets_more_at_once(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        assert scene.rescues.rescuable("uid-train-1")
        await scene.alarmed(an_alarm())
        assert scene.limit() == 165 * MIB
        (container,) = scene.server.pods["train-1"]["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        note = json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])
        assert note == {
            "uid": "uid-train-1",
            "container": "main",
            "request": "128Mi",
            "limit": "128Mi",
            "raises": 1,
        }
        assert scene.told.reasons == ["Rescued"]
        assert "128Mi → 165Mi" in scene.told.words[0]
        assert (scene.result("asked"), scene.result("granted")) == (1, 1)


@pytest.mark.slow
async def test_it_is_raised_again_from_what_it_has(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(an_alarm())
        await scene.alarmed(an_alarm(limit=165 * MIB))
        assert scene.limit() == 202 * MIB
        note = json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])
        assert (note["limit"], note["raises"]) == ("128Mi", 2)
        assert scene.told.raised == [(128, 165), (128, 202)]


@pytest.mark.slow
async def test_the_same_alarm_twice_is_one_raise(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm(), an_alarm())
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 1
        assert (scene.answered("raised"), scene.answered("early")) == (1, 2)


async def test_news_from_before_a_raise_does_not_raise_it_twice(tmp_path: Path) -> None:
    """The annotation's event may come before the raise's event, with the old limit."""
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        scene.sees(running().annotated({RESCUED: noted(scene)}))
        await scene.alarmed(an_alarm())
        assert scene.server.raises == ["165Mi"]
        assert scene.told.reasons == []
        # No kubelet carries the raise out: the pod has what its spec says.
        scene.now_s += PENDING_S + 1
        scene.rescues.look()
        assert scene.metrics.registry.get_sample_value("plimsoll_rescue_added_bytes") == 0


def noted(scene: Scene) -> str:
    return str(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])


@pytest.mark.slow
async def test_what_grows_on_is_raised_further_before_its_node_has_granted_it(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        fast = replace(an_alarm(), used_bytes=126 * MIB, growth_bytes_s=60.0 * MIB)
        await scene.alarmed(fast)
        assert scene.server.raises == ["165Mi", "384Mi"]
        note = json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])
        assert (note["limit"], note["raises"]) == ("128Mi", 2)


async def grown(scene: Scene, need_mib: int, seconds: float = 1.0) -> None:
    """Let the agent report that need, and nothing since."""
    report = replace(a_final(need_bytes=need_mib * MIB), final=False)
    scene.peaks.add([report])
    for _ in range(2):
        scene.heard.hear("node-1")
        scene.rescues.look()
        await scene.idle()
        scene.now_s += seconds


@pytest.mark.slow
async def test_what_has_stopped_growing_gives_back_what_it_does_not_need(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        fast = replace(an_alarm(), growth_bytes_s=20.0 * MIB)
        await scene.alarmed(fast)
        assert scene.limit() == 210 * MIB
        await grown(scene, 130)
        assert scene.limit() == 210 * MIB
        await grown(scene, 130, FLAT_S)
        assert scene.limit() == 164 * MIB
        assert scene.result("given_back") == 1
        assert scene.rescues.raised("uid-train-1")
        # It grows again after all.
        await scene.alarmed(replace(an_alarm(limit=210 * MIB), used_bytes=160 * MIB))
        assert scene.limit() > 164 * MIB


@pytest.mark.slow
async def test_nothing_is_given_back_below_the_first_size(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(replace(an_alarm(), growth_bytes_s=20.0 * MIB))
        await grown(scene, 60, FLAT_S)
        assert scene.limit() == LIMIT


@pytest.mark.slow
async def test_where_no_limit_may_fall_all_is_kept(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(replace(an_alarm(), growth_bytes_s=20.0 * MIB))
        scene.server.refuses = [Refused("memory limits cannot be decreased")]
        await grown(scene, 60, FLAT_S)
        await grown(scene, 60, FLAT_S)
        assert scene.limit() == 210 * MIB
        assert len(scene.server.raises) == 2
        await scene.alarmed(an_alarm(limit=210 * MIB))
        assert scene.limit() > 210 * MIB


@pytest.mark.slow
async def test_a_raise_that_the_kernel_enforces_already_is_granted(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        assert scene.told.reasons == []
        await scene.alarmed(an_alarm(limit=165 * MIB))
        assert scene.told.reasons == ["Rescued"]
        assert scene.server.raises == ["165Mi", "202Mi"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"rescue": "never"}, id="its policy says never"),
        pytest.param({"mode": "recommend"}, id="its mode is recommend"),
        pytest.param({"paused": True}, id="it is paused"),
    ],
)
async def test_nothing_is_raised_where(tmp_path: Path, spec: dict[str, Any]) -> None:
    async with a_scene(tmp_path, **spec) as scene:
        scene.sees(running())
        assert not scene.rescues.rescuable("uid-train-1")
        await scene.alarmed(an_alarm())
        assert scene.server.raises == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "alarm", "node"),
    [
        pytest.param(running(), an_alarm("another"), "node-1", id="a pod that nobody knows"),
        pytest.param(running(), an_alarm(), "node-2", id="an agent of another node"),
        pytest.param(running(), an_alarm(container="other"), "node-1", id="another container"),
        pytest.param(killed(running()), an_alarm(), "node-1", id="a pod that was killed"),
        pytest.param(
            running().with_status(
                containerStatuses=[{**RUNNING, "restartCount": 1}], phase="Running"
            ),
            an_alarm(),
            "node-1",
            id="a container that was restarted",
        ),
        pytest.param(
            running().with_status(
                phase="Pending",
                containerStatuses=[{"name": "main"}],
                initContainerStatuses=[{"name": "first", "containerID": "containerd://init"}],
            ),
            an_alarm(container="init"),
            "node-1",
            id="an init container",
        ),
        pytest.param(running().limited(None), an_alarm(), "node-1", id="no limit"),
        pytest.param(running().annotated({LENT: "{}"}), an_alarm(), "node-1", id="a lender"),
    ],
)
async def test_an_alarm_is_passed_over_of(
    tmp_path: Path, pod: APod, alarm: Alarm, node: str
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(pod)
        await scene.alarmed(alarm, node=node)
        assert scene.server.raises == []


@pytest.mark.slow
async def test_a_policy_that_was_switched_off_stops_the_rescue_at_once(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        policies = scene.inside.controller.book.policies
        policies.set_namespace_spec("shop", {**AUTO, "mode": "recommend"})
        assert not scene.rescues.rescuable("uid-train-1")
        await scene.alarmed(an_alarm())
        assert scene.server.raises == []


async def test_where_the_api_server_cannot_resize_nothing_is_watched(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.api = OldApi()
        scene.sees(running())
        assert scene.rescues.rescuable("uid-train-1")
        looks = asyncio.create_task(scene.rescues.run())
        async with asyncio.timeout(60):
            while scene.rescues.off is None:
                await asyncio.sleep(0.01)
        looks.cancel()
        await asyncio.gather(looks, return_exceptions=True)
        assert "v1.32.1" in str(scene.rescues.off)
        assert not scene.rescues.rescuable("uid-train-1")
        await scene.alarmed(an_alarm())
        assert scene.answered("not_allowed") == 1
        assert scene.metrics.registry.get_sample_value("plimsoll_rescue_on") == 0


class OldApi:
    """An API server that has no resize subresource."""

    async def get(self, path: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"major": "1", "minor": "32", "gitVersion": "v1.32.1"} if path == "/version" else {}


async def test_a_full_node_is_asked_for_nothing(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.used_bytes = 64 * 1024 * MIB
        scene.sees(running())
        await scene.alarmed(an_alarm())
        await scene.alarmed(an_alarm())
        assert scene.server.raises == []
        assert scene.told.reasons == ["NotRescued"]
        assert scene.answered("node") == 2


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["Deferred", "Infeasible"])
async def test_a_raise_that_its_node_refuses_is_withdrawn_and_remembered(
    tmp_path: Path, answer: str
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.answers = answer
        scene.sees(running())
        await scene.alarmed(an_alarm())
        assert scene.limit() == LIMIT
        assert scene.result(answer.lower()) == 1
        assert scene.told.reasons == ["NotRescued"]
        scene.server.answers = None
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 2  # the raise, and its withdrawal
        scene.sees(running("train-2"))
        await scene.alarmed(an_alarm("train-2"))
        if answer == "Infeasible":
            # It says that this kind of pod is never resized, and nothing of the node's room.
            assert scene.limit("train-2") > LIMIT
            return
        assert scene.answered("node_full") == 1
        scene.now_s += FULL_S + 1
        scene.rescues.look()
        await scene.alarmed(an_alarm("train-2"))
        assert scene.limit("train-2") > LIMIT


async def test_a_pod_that_an_autoscaler_sizes_is_left_to_it(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.inside.controller.bounds.set_autoscalers(by_namespace([a_vpa()]))
        scene.sees(running().owned_by_job("report-29391234", attempts=None))
        await scene.alarmed(an_alarm())
        assert scene.limit() == 128 * MIB


@pytest.mark.slow
async def test_another_controller_knows_what_was_raised(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(an_alarm())
        scene.rescues = scene.another()
        scene.rescues.see(scene.server.pods["train-1"], gone=False)
        await scene.alarmed(an_alarm())  # said before the raise
        assert scene.limit() == 165 * MIB
        await scene.alarmed(an_alarm(limit=165 * MIB))
        note = json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])
        assert (note["limit"], note["raises"]) == ("128Mi", 2)


@pytest.mark.slow
async def test_two_controllers_make_one_raise_of_one_alarm(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        other = scene.another()
        other.see(running().built(), gone=False)
        await scene.alarmed(an_alarm())
        scene.rescues = other
        await scene.alarmed(an_alarm())
        assert scene.server.raises == ["165Mi", "165Mi"]


@pytest.mark.slow
async def test_a_rescued_run_teaches_its_need_and_what_its_author_asked(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(an_alarm())
        await scene.inside.report(of_container(165), a_final(need_bytes=140 * MIB))
        over = ended(APod(scene.server.pods["train-1"]))
        await scene.inside.see(over)
        (found,) = scene.inside.store.observations.of_task(scene.inside.known.task)
        assert found.outcome is Outcome.SUCCEEDED
        assert found.need is not None
        assert found.need.size_bytes == 140 * MIB
        assert found.request_bytes == LIMIT
        assert found.allocation_bytes == 165 * MIB
