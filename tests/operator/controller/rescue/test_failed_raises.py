"""Raises that fail, are refused or get no answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.attempts.alarms import Alarm, Alarms
from plimsoll_operator.controller.rescue.expected_raises import PENDING_S
from plimsoll_operator.controller.rescue.lowering import FLAT_S
from plimsoll_operator.kube.errors import Changed, NotFound, Refused, Unreachable
from plimsoll_operator.names.labels import RESCUED
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.deciding import MOST_RAISES
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.controller.ledgers import a_final
from tests.builders.controller.rescues import Scene, a_scene, running
from tests.builders.pods import RUNNING, APod


def noted(scene: Scene) -> str:
    return str(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])


@pytest.mark.parametrize("error", [Changed("409"), Unreachable("429")])
async def test_a_raise_that_fails_is_tried_once_more(tmp_path: Path, error: Exception) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [error]
        await scene.alarmed(an_alarm())
        assert scene.limit() > LIMIT
        assert len(scene.server.raises) == 2


@pytest.mark.slow
@pytest.mark.parametrize("error", [NotFound("404"), Changed("409"), Unreachable("429")])
async def test_raises_that_fail_are_none(tmp_path: Path, error: Exception) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        for _ in range(MOST_RAISES + 1):
            scene.server.refuses = [error, error]
            await scene.alarmed(an_alarm())
            scene.server.refuses = []
            scene.sees(running())
        assert scene.server.notes == 0
        assert not scene.rescues.raised("uid-train-1")
        assert scene.told.reasons == []
        await scene.alarmed(an_alarm())
        assert json.loads(noted(scene))["raises"] == 1


@pytest.mark.slow
async def test_a_raise_whose_answer_alone_was_lost_is_noted(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [Unreachable("1"), Unreachable("2")]
        await scene.alarmed(an_alarm())
        made = running().asking("165Mi").limited("165Mi")
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        scene.server.pods["train-1"] = made.with_status(containerStatuses=[status]).built()
        scene.sees(APod(scene.server.pods["train-1"]))
        scene.rescues.look()
        await scene.idle()
        note = json.loads(noted(scene))
        assert (note["request"], note["limit"], note["raises"]) == ("128Mi", "128Mi", 1)
        assert scene.told.reasons == ["Rescued"]


@pytest.mark.slow
@pytest.mark.parametrize("second", [Unreachable("2"), Refused("exceeded quota")])
async def test_a_raise_that_is_seen_before_its_answer_is_lost_is_noted(
    tmp_path: Path, second: Exception
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [Unreachable("1"), second]
        said = Alarms(node="node-1", pods_used_bytes=scene.used_bytes, alarms=(an_alarm(),))
        assert await scene.rescues.hear(said) == ["uid-train-1"]
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        made = running().asking("165Mi").limited("165Mi").with_status(containerStatuses=[status])
        scene.sees(made)
        scene.server.pods["train-1"] = made.built()
        await scene.idle()
        scene.rescues.look()
        await scene.idle()
        assert scene.told.reasons == ["Rescued"]
        assert json.loads(noted(scene))["limit"] == "128Mi"


@pytest.mark.slow
async def test_a_raise_that_is_lost_is_made_at_the_next_alarm(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [Unreachable("1"), Unreachable("2")]
        await scene.alarmed(an_alarm())
        assert scene.limit() == LIMIT
        await scene.alarmed(an_alarm())
        assert scene.limit() > LIMIT


async def test_what_the_api_server_refuses_is_not_asked_again(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [Refused("exceeded quota")]
        await scene.alarmed(an_alarm())
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 1
        assert scene.told.reasons == ["NotRescued"]
        assert "exceeded quota" in scene.told.words[0]


FAST = replace(an_alarm(), used_bytes=126 * MIB, growth_bytes_s=60.0 * MIB)
"""It asks for more than a raise in flight."""


async def both_raised(scene: Scene, *, slow: str | None = None) -> None:
    """Let a second alarm come before the first raise is answered."""
    scene.sees(running())
    for alarm in (an_alarm(), FAST):
        said = Alarms(node="node-1", pods_used_bytes=scene.used_bytes, alarms=(alarm,))
        assert await scene.rescues.hear(said) == ["uid-train-1"]
    if slow is not None:
        scene.server.slow[slow] = asyncio.Event()
        for _ in range(20):
            await asyncio.sleep(0)  # the other raise fails meanwhile
        scene.server.slow[slow].set()
    await scene.idle()


@pytest.mark.slow
@pytest.mark.parametrize("slow", [None, "165Mi", "384Mi"])
@pytest.mark.parametrize("error", [NotFound("404"), Changed("409"), Refused("exceeded quota")])
async def test_two_raises_in_flight_that_fail_are_none(
    tmp_path: Path, error: Exception, slow: str | None
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.refuses = [error] * 4
        await both_raised(scene, slow=slow)
        assert not scene.rescues.raised("uid-train-1")
        scene.rescues.look()
        await scene.idle()
        assert scene.server.notes == 0
        assert len(scene.told.reasons) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("slow", "limit"), [("384Mi", "384Mi"), ("165Mi", "165Mi")])
async def test_of_two_raises_the_one_that_is_made_is_counted(
    tmp_path: Path, slow: str, limit: str
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.refuses = [Changed("1"), Changed("2")]
        await both_raised(scene, slow=slow)
        assert scene.told.reasons == ["Rescued"]
        note = json.loads(noted(scene))
        assert (note["limit"], note["raises"]) == ("128Mi", 1)
        assert format_bytes(scene.limit()) == limit
        scene.sees(APod(scene.server.pods["train-1"]))
        scene.rescues.look()
        await scene.idle()
        assert json.loads(noted(scene))["raises"] == 1


@pytest.mark.slow
async def test_a_raise_that_stands_is_told_if_the_next_one_fails(tmp_path: Path) -> None:
    """Its node grants it late, after the second one was refused."""
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        scene.server.refuses = [Refused("exceeded quota")]
        await scene.alarmed(FAST)
        assert scene.told.reasons == ["NotRescued"]
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        granted = APod(scene.server.pods["train-1"]).with_status(containerStatuses=[status])
        scene.sees(granted)
        await scene.idle()
        assert scene.told.reasons == ["NotRescued", "Rescued"]
        assert scene.told.raised == [(128, 165)]
        scene.sees(granted)
        await scene.idle()
        assert scene.told.reasons == ["NotRescued", "Rescued"], "once"


@pytest.mark.slow
async def test_a_raise_that_was_granted_meanwhile_is_told_if_the_next_one_fails(
    tmp_path: Path,
) -> None:
    """The pod has no later event that shows it."""
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        scene.server.refuses = [Refused("exceeded quota")]
        said = Alarms(node="node-1", pods_used_bytes=scene.used_bytes, alarms=(FAST,))
        assert await scene.rescues.hear(said) == ["uid-train-1"]
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        scene.sees(APod(scene.server.pods["train-1"]).with_status(containerStatuses=[status]))
        await scene.idle()
        assert scene.told.reasons == ["NotRescued", "Rescued"]


@pytest.mark.slow
async def test_of_two_lost_raises_the_smaller_may_be_made(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.refuses = [Unreachable("503")] * 4
        await both_raised(scene)
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        made = running().asking("165Mi").limited("165Mi").with_status(containerStatuses=[status])
        scene.server.pods["train-1"] = made.built()
        scene.sees(made)
        scene.rescues.look()
        await scene.idle()
        note = json.loads(noted(scene))
        assert (note["limit"], note["raises"]) == ("128Mi", 1)
        assert scene.told.reasons == ["Rescued"]


async def test_a_pod_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [NotFound("gone")]
        await scene.alarmed(an_alarm())
        scene.rescues.see(running().built(), gone=True)
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 1


async def test_a_raise_that_nobody_answers_is_given_up(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await scene.alarmed(an_alarm())
        scene.now_s += PENDING_S + 1
        scene.rescues.look()
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 1
        assert scene.result("unanswered") == 1


DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


async def deferred(scene: Scene, granted: str) -> None:
    """Let a second raise come at once, and its node defer that one."""
    scene.server.silent = True
    scene.sees(running())
    await scene.alarmed(an_alarm())
    await scene.alarmed(FAST)
    assert scene.server.raises == ["165Mi", "384Mi"]
    kept = scene.server.pods["train-1"]
    status = {**RUNNING, "resources": {"limits": {"memory": granted}}}
    kept["status"].update(conditions=[DEFERRED], containerStatuses=[status])
    kept["metadata"]["generation"] = 3


async def test_a_deferred_raise_leaves_the_pod_the_one_before_that_was_granted(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        await deferred(scene, "165Mi")
        scene.sees(APod(scene.server.pods["train-1"]))
        await scene.idle()
        assert sorted(scene.told.reasons) == ["NotRescued", "Rescued"]
        assert scene.told.raised == [(128, 165)]
        (container,) = scene.server.pods["train-1"]["spec"]["containers"]
        memory = [container["resources"][kind]["memory"] for kind in ("requests", "limits")]
        assert memory == ["165Mi", "165Mi"]


async def test_a_deferred_raise_leaves_the_pod_the_one_before_that_is_carried_out(
    tmp_path: Path,
) -> None:
    """A kubelet takes a moment; what it says of the larger raise says nothing of this one."""
    async with a_scene(tmp_path) as scene:
        await deferred(scene, "128Mi")
        pod = APod(scene.server.pods["train-1"]).built()
        scene.sees(APod(pod))
        scene.sees(APod(pod))
        await scene.idle()
        assert scene.limit() == 165 * MIB
        assert scene.told.raised == [(128, 165)]


async def alarmed_at_once(scene: Scene, *alarms: Alarm) -> None:
    """Let alarms come whose raises are not answered yet."""
    for alarm in alarms:
        said = Alarms(node="node-1", pods_used_bytes=scene.used_bytes, alarms=(alarm,))
        assert await scene.rescues.hear(said) == ["uid-train-1"]
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_raise_that_lands_after_a_larger_one_does_not_undo_it(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        hangs = scene.server.slow["165Mi"] = asyncio.Event()
        await alarmed_at_once(scene, an_alarm(), FAST)
        assert scene.limit() == 384 * MIB
        hangs.set()
        await scene.idle()
        assert scene.server.raises == ["165Mi", "384Mi", "384Mi"]
        assert scene.limit() == 384 * MIB
        assert json.loads(noted(scene))["limit"] == "128Mi"


@pytest.mark.slow
@pytest.mark.parametrize("larger", [True, False], ids=["a larger one", "its time is over"])
async def test_a_raise_is_not_tried_again_once(tmp_path: Path, *, larger: bool) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        hangs = scene.server.slow["165Mi"] = asyncio.Event()
        await alarmed_at_once(scene, an_alarm(), *([FAST] if larger else []))
        scene.now_s += 1 if larger else PENDING_S + 1
        scene.server.refuses = [Unreachable("no answer")]
        hangs.set()
        await scene.idle()
        assert scene.server.raises.count("165Mi") == 1
        assert scene.limit() == (384 * MIB if larger else LIMIT)


@pytest.mark.slow
async def test_what_is_given_back_late_does_not_undo_a_newer_raise(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.alarmed(replace(an_alarm(), growth_bytes_s=20.0 * MIB))
        assert scene.limit() == 210 * MIB
        hangs = scene.server.slow["164Mi"] = asyncio.Event()
        scene.peaks.add([replace(a_final(need_bytes=130 * MIB), final=False)])
        scene.rescues.look()
        scene.now_s += FLAT_S
        scene.heard.hear("node-1")
        scene.rescues.look()
        await asyncio.sleep(0)
        assert scene.server.raises == ["210Mi", "164Mi"]
        await alarmed_at_once(scene, replace(an_alarm(limit=210 * MIB), used_bytes=200 * MIB))
        more = scene.limit()
        assert more > 210 * MIB
        hangs.set()
        await scene.idle()
        assert scene.limit() == more


@pytest.mark.slow
async def test_a_raise_that_was_undone_is_repeated_before_anything_is_noted(tmp_path: Path) -> None:
    """The note is a write to the same pod, and may hang as well."""
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        hangs = scene.server.slow["165Mi"] = asyncio.Event()
        await alarmed_at_once(scene, an_alarm(), FAST)
        scene.server.noting = asyncio.Event()
        hangs.set()
        for _ in range(50):
            await asyncio.sleep(0)
        assert scene.limit() == 384 * MIB
        scene.server.noting.set()
        await scene.idle()
