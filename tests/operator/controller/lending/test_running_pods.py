"""Running pods that lend and take back, as their memory, agents, nodes and policies change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.lending.agents_heard import (
    NODES_KEPT,
    SILENT_AT_START_S,
    AgentsHeard,
)
from plimsoll_operator.controller.lending.lending import REFUSED_PAUSE_S
from plimsoll_operator.controller.tasks.autoscalers import by_namespace
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.names.labels import LENT
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import ended
from tests.builders.controller.lenders import ASKED, AUTO, a_scene, running
from tests.builders.kubernetes.autoscalers import a_vpa
from tests.builders.nodes import a_node
from tests.builders.pods import RUNNING, APod


@pytest.mark.slow
async def test_a_flat_pod_lends_and_has_all_again_when_it_grows(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        assert json.loads(scene.server.pods["train-1"]["metadata"]["annotations"][LENT]) == {
            "uid": "uid-train-1",
            "container": "main",
            "request": ASKED,
        }
        assert scene.lending.lends("uid-train-1")
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED
        await scene.later(1)
        assert not scene.is_marked()
        assert not scene.lending.lends("uid-train-1")
        assert scene.told.reasons == ["Lent", "TakenBack"]
        # It has shown that it grows after it was flat.
        await scene.later(1000)
        assert scene.request() == ASKED


@pytest.mark.slow
async def test_what_is_lent_and_was_taken_back_is_told_in_one_line(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.later(1)
        assert scene.words == "", "no pod may lend"
        await scene.lends()
        assert scene.words == (
            "1 attempt on 1 node lends 692Mi now; none took back what it had lent"
        )
        scene.uses(265)
        await scene.later(1)
        await scene.later(1)
        assert scene.words == (
            "nothing is lent now; 1 attempt took back what it had lent (1 used more)"
        )


async def test_a_pod_is_left_alone_without_a_word_of_its_policy(tmp_path: Path) -> None:
    async with a_scene(tmp_path, lending="never") as scene:
        scene.lending.see(running().built(), gone=False)
        scene.uses(200)
        await scene.later(1)
        await scene.later(1000)
        assert scene.server.calls == 0


@pytest.mark.slow
async def test_where_the_agent_is_silent_all_is_taken_back(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        await scene.later(14, heard=False)
        assert scene.request() == "332Mi"
        await scene.later(2, heard=False)
        assert scene.request() == ASKED


async def test_an_autoscaler_that_comes_takes_all_back(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends(running().owned_by_job("report-29391234", attempts=None))
        scene.inside.controller.bounds.set_autoscalers(by_namespace([a_vpa()]))
        await scene.later(1)
        assert scene.request() == ASKED


@pytest.mark.slow
async def test_a_pause_takes_all_back(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        scene.inside.controller.book.policies.set_namespace_spec("shop", {**AUTO, "paused": True})
        await scene.later(1)
        assert scene.request() == ASKED


@pytest.mark.slow
async def test_a_node_that_is_short_of_memory_has_all_taken_back(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        node = a_node("64Gi", "node-1")
        node["status"]["conditions"] = [{"type": "MemoryPressure", "status": "True"}]
        await scene.inside.controller.watch.see_node(node, gone=False)
        await scene.later(1)
        assert scene.request() == ASKED


@pytest.mark.slow
async def test_another_controller_goes_on_with_what_it_hears_of(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        scene.lending = scene.another()
        scene.lending.see(scene.server.pods["train-1"], gone=False)
        await scene.later(10)
        assert scene.request() == "332Mi"
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED


@pytest.mark.slow
async def test_another_controller_takes_back_what_nobody_reports_to_it(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        scene.peaks = PeakBook()
        scene.lending = scene.another()
        scene.lending.see(scene.server.pods["train-1"], gone=False)
        await scene.later(14)
        assert scene.request() == "332Mi"
        await scene.later(2)
        assert scene.request() == ASKED


async def test_a_controller_that_died_between_two_calls_leaves_nothing_half_done(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        marked = scene.server.pods["train-1"]
        marked["spec"]["containers"][0]["resources"]["requests"]["memory"] = ASKED
        marked["status"]["containerStatuses"][0] = {
            **RUNNING,
            "resources": {"requests": {"memory": ASKED}},
        }
        scene.lending = scene.another()
        scene.lending.see(marked, gone=False)
        await scene.later(1)
        assert not scene.is_marked()


@pytest.mark.slow
async def test_what_a_full_node_cannot_give_back_yet_is_waited_for_and_nobody_else_lends(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        scene.server.full = True
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED
        await scene.later(1)
        assert scene.is_marked()
        other = running("train-2").labelled("other")
        scene.lending.see(other.built(), gone=False)
        scene.uses(100, "train-2")
        await scene.later(1)
        await scene.later(100)
        assert scene.request("train-2") == ASKED


@pytest.mark.slow
@pytest.mark.parametrize("refused", [Refused])
async def test_a_pod_that_may_not_be_resized_is_left_for_a_while(
    tmp_path: Path, refused: type[Exception]
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.refuses = refused
        scene.lending.see(running().built(), gone=False)
        scene.uses(200)
        await scene.later(1)
        await scene.later(61)
        await scene.later(1)
        assert scene.server.calls == 1
        assert not scene.is_marked()
        scene.server.refuses = None
        scene.lending.see(scene.server.pods["train-1"], gone=False)
        await scene.later(REFUSED_PAUSE_S)
        assert scene.request() == "332Mi"


async def test_what_a_pod_takes_back_does_not_wait_for_its_newest_version(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        scene.server.pods["train-1"]["metadata"]["resourceVersion"] = "99"
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED


async def test_a_pod_that_is_gone_or_over_is_forgotten(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        lender = APod(scene.server.pods["train-1"])
        scene.lending.see(ended(lender).built(), gone=False)
        assert not scene.lending.lends("uid-train-1")
        scene.lending.see(lender.built(), gone=False)
        assert scene.lending.lends("uid-train-1")
        scene.lending.see(lender.built(), gone=True)
        assert not scene.lending.lends("uid-train-1")


@pytest.mark.slow
async def test_an_attempt_that_lent_is_observed_with_what_it_asked_for(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await scene.lends()
        await scene.inside.see(ended(APod(scene.server.pods["train-1"])))
        (found,) = scene.inside.store.observations.of_task(scene.inside.known.task)
        assert found.request_bytes == 1024 * MIB


def test_names_of_nodes_that_agents_invent_are_bounded() -> None:
    heard = AgentsHeard(lambda: 5.0)
    for number in range(NODES_KEPT + 5):
        heard.hear(f"node-{number}")
    assert len(heard._heard_s) == NODES_KEPT
    assert heard.heard_s("never") == 5.0


def test_no_agent_lives_until_one_says_so() -> None:
    now_s = 5.0
    heard = AgentsHeard(lambda: now_s)
    assert heard.silent_s == SILENT_AT_START_S
    now_s = 7.0
    assert heard.silent_s == SILENT_AT_START_S + 2
    heard.hear("a")
    heard.hear("b")
    now_s = 8.0
    heard.hear("a")
    now_s = 10.0
    assert heard.silent_s == 2
