"""What a controller grants to agents, and how it follows their own raises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.attempts.grants import AskedGrants, Grant, OwnRaise
from plimsoll_operator.names.labels import RESCUED
from plimsoll_operator.rescue.allowance import Allowance
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.controller.ledgers import a_final, ended
from tests.builders.controller.rescues import Scene, a_scene, of_container, running
from tests.builders.pods import APod

UID = "uid-train-1"


async def grants(scene: Scene, *raised: OwnRaise, node: str = "node-1") -> tuple[Grant, ...]:
    found = await scene.rescues.grant(AskedGrants(node=node, raised=raised, pods=(UID,)))
    await scene.idle()
    return found.grants


async def raised_by_agent(scene: Scene, granted: Grant, *, seen_first: bool = False) -> OwnRaise:
    """The agent patches by a grant, as its allowance says."""
    allowance = Allowance()
    allowance.renew([granted], 0.0)
    spent = allowance.spend(replace(an_alarm(), limit_bytes=granted.limit_bytes), 0, 0.0)
    assert spent is not None
    limit = f"{spent.raised.limit_bytes // MIB}Mi"
    memory = {"requests": {"memory": limit}, "limits": {"memory": limit}}
    body = {
        "metadata": {"uid": UID},
        "spec": {"containers": [{"name": "main", "resources": memory}]},
    }
    pod = await scene.server.resize_in_place(running().built(), body)
    if seen_first:
        scene.sees(APod(pod))
    return OwnRaise(
        alarm=an_alarm(),
        limit_bytes=spent.raised.limit_bytes,
        probability=spent.raised.probability,
        raises=granted.raises + 1,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seen_first", [False, True])
async def test_what_an_agent_raised_is_noted_told_and_learned_as_if_it_were_its_own(
    tmp_path: Path, *, seen_first: bool
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        (granted,) = await grants(scene)
        said = await raised_by_agent(scene, granted, seen_first=seen_first)
        (another,) = await grants(scene, said)
        assert (another.limit_bytes, another.first_bytes, another.raises) == (165 * MIB, LIMIT, 1)
        note = json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][RESCUED])
        assert (note["request"], note["limit"], note["raises"]) == ("128Mi", "128Mi", 1)
        scene.sees(APod(scene.server.pods["train-1"]))
        await scene.idle()
        assert scene.told.reasons == ["Rescued"]
        assert "128Mi → 165Mi" in scene.told.words[0]
        assert (scene.answered("raised_by_agent"), scene.result("granted")) == (1, 1)
        assert len(scene.server.raises) == 1
        await scene.inside.report(of_container(165), a_final(need_bytes=140 * MIB))
        await scene.inside.see(ended(APod(scene.server.pods["train-1"])))
        (found,) = scene.inside.store.observations.of_task(scene.inside.known.task)
        assert (found.outcome, found.request_bytes) == (Outcome.SUCCEEDED, LIMIT)
        assert found.allocation_bytes == 165 * MIB


async def test_what_is_told_twice_is_one_raise(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        said = await raised_by_agent(scene, (await grants(scene))[0])
        await grants(scene, said)
        (granted,) = await grants(scene, said)
        assert granted.raises == 1
        assert scene.answered("raised_by_agent") == 1


async def test_what_no_grant_was_given_for_is_believed_of_nobody(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        said = OwnRaise(alarm=an_alarm(), limit_bytes=2 * LIMIT, probability=1.0, raises=1)
        (granted,) = await grants(scene, said)
        assert (granted.limit_bytes, granted.raises) == (LIMIT, 0)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["Deferred", "Infeasible"])
async def test_a_raise_by_an_agent_that_its_node_refuses_is_withdrawn_and_remembered(
    tmp_path: Path, answer: str
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.answers = answer
        scene.sees(running())
        said = await raised_by_agent(scene, (await grants(scene))[0])
        await grants(scene, said)
        scene.sees(APod(scene.server.pods["train-1"]))
        await scene.idle()
        assert scene.limit() == LIMIT
        assert scene.told.reasons == ["NotRescued"]
        assert await grants(scene) == ()


@pytest.mark.slow
async def test_the_next_alarm_is_decided_by_what_the_agent_has_raised(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.silent = True
        scene.sees(running())
        await grants(scene, await raised_by_agent(scene, (await grants(scene))[0]))
        await scene.alarmed(an_alarm())
        assert len(scene.server.raises) == 1
        assert scene.answered("early") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "node"),
    [
        pytest.param({"rescue": "never"}, "node-1", id="its policy says never"),
        pytest.param({"mode": "recommend"}, "node-1", id="its mode is recommend"),
        pytest.param({"paused": True}, "node-1", id="it is paused"),
        pytest.param({}, "node-2", id="it runs on another node"),
    ],
)
async def test_nothing_is_granted_where(tmp_path: Path, spec: dict[str, object], node: str) -> None:
    async with a_scene(tmp_path, **spec) as scene:
        scene.sees(running())
        assert await grants(scene, node=node) == ()


@pytest.mark.slow
async def test_what_an_agent_could_not_read_is_not_granted(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running().limited("2Pi"))
        assert await grants(scene) == ()


async def test_what_is_granted_is_bounded_by_what_others_were_given(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        scene.sees(running("train-2"))
        (before,) = await grants(scene)
        await scene.alarmed(an_alarm("train-2"))
        (after,) = await grants(scene)
        assert (before.added_bytes, after.added_bytes) == (0, 37 * MIB)
        assert after.in_namespace_bytes == 37 * MIB
