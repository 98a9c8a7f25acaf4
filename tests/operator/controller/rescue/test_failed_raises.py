"""Raises that fail, are refused or get no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plimsoll_operator.attempts.alarms import Alarms
from plimsoll_operator.controller.rescue.rescues import PENDING_S
from plimsoll_operator.kube.errors import Changed, NotFound, Refused, Unreachable
from plimsoll_operator.names.labels import RESCUED
from plimsoll_predictor.rescue.deciding import MOST_RAISES
from tests.builders.agent.alarms import LIMIT, an_alarm
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
        await scene.rescues.idle()
        note = json.loads(noted(scene))
        assert (note["request"], note["limit"], note["raises"]) == ("128Mi", "128Mi", 1)
        assert scene.told.reasons == ["Rescued"]


@pytest.mark.slow
async def test_a_raise_that_is_seen_before_its_answer_is_lost_is_noted(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.server.refuses = [Unreachable("1"), Unreachable("2")]
        said = Alarms(node="node-1", pods_used_bytes=scene.used_bytes, alarms=(an_alarm(),))
        assert await scene.rescues.hear(said) == ["uid-train-1"]
        status = {**RUNNING, "resources": {"limits": {"memory": "165Mi"}}}
        made = running().asking("165Mi").limited("165Mi").with_status(containerStatuses=[status])
        scene.sees(made)
        scene.server.pods["train-1"] = made.built()
        await scene.rescues.idle()
        scene.rescues.look()
        await scene.rescues.idle()
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
