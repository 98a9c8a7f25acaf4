"""The extender over real HTTP, from the feed to the scores; if anything fails, scores are equal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from plimsoll_operator.extender import scoring
from plimsoll_operator.extender.breaker import MOST_LATE, REST_S
from plimsoll_operator.extender.server import MAX_BODY_BYTES
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import Reader
from plimsoll_operator.processes.extender import RunningExtender, running_extender
from plimsoll_operator.sizing import node_hint
from plimsoll_operator.sizing.node_scores import Graded
from plimsoll_predictor.core.policy import Placing
from tests.builders.placing.told_nodes import tell_nodes
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of, until_true
from tests.rigs.servers.extenders import (
    PATIENT_S,
    Scheduler,
    an_extender,
    by_names,
    by_nodes,
    extender_settings,
)

KNOWN = knowledge_of(placing=Placing.ENFORCE)
POD = a_pod().asking("2Gi")
NAMES = ("node-1", "node-2", "node-3")


async def told(extender: RunningExtender, board: FeedBoard, **running: int) -> None:
    """Tell which tasks run where, and wait until the extender knows it."""
    tell_nodes(board, TRAIN, **running)
    await until_true(lambda: len(extender.scorer.state.placing) == len(running))


def counted(extender: RunningExtender, graded: Graded) -> float | None:
    return extender.scorer.metrics.registry.get_sample_value(
        "plimsoll_extender_questions_total", {"result": graded.value}
    )


async def test_nodes_are_scored_by_who_runs_there(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0, node_3=3)
        assert await scheduler.scores(POD, *NAMES) == [0, 10, 0]
        assert counted(extender, Graded.GIVEN) == 1
        board.set_host("node-2", None)
        board.set_host("node-1", [])
        await until_true(lambda: len(extender.scorer.state.placing) == 2)
        assert await scheduler.scores(POD, "node-3", "node-1") == [0, 10]


async def test_the_controller_does_not_take_it_for_an_admission(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (_, _, board):
        await until_true(lambda: board._reading[Reader.EXTENDER] == 1)
        assert board.readers == 0


async def test_whole_nodes_are_found_by_their_host_names(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0)
        found = await scheduler.prioritize(by_nodes(POD, n1="node-1", n2="node-2"))
        assert found == [{"Host": "n2", "Score": 10}]


async def test_a_burst_is_not_sent_to_one_node(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=2, node_2=0, node_3=1)
        assert await scheduler.scores(POD, *NAMES) == [0, 10, 0]
        # The pod that was just scored counts on its node before the feed reports it there.
        assert await scheduler.scores(POD, *NAMES) == [0, 10, 10]


async def test_a_pod_that_nobody_asked_for_gets_equal_scores(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0)
        assert await scheduler.scores(POD.unlabelled(), *NAMES) == [0, 0, 0]
        assert await scheduler.scores(POD.labelled("never-seen"), *NAMES) == [0, 0, 0]
        assert counted(extender, Graded.OTHER) == 2


async def test_pods_of_excluded_namespaces_get_equal_scores(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN, excluded_namespaces="shop") as each:
        scheduler, extender, board = each
        await told(extender, board, node_1=3, node_2=0)
        assert await scheduler.scores(POD, *NAMES) == [0, 0, 0]


async def test_before_the_controller_was_heard_scores_are_equal(tmp_path: Path) -> None:
    settings = extender_settings(tmp_path, "http://127.0.0.1:1")
    async with running_extender(settings) as extender, aiohttp.ClientSession() as session:
        scheduler = Scheduler(session, f"http://127.0.0.1:{extender.port}")
        extender.scorer.deadline_s = PATIENT_S
        assert await scheduler.scores(POD, *NAMES) == [0, 0, 0]


async def test_while_the_controller_is_silent_scores_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0)
        # All that was heard counts as too old, although the feed may be heard while this runs.
        monkeypatch.setattr(node_hint, "MOST_SILENCE_S", -1.0)
        assert await scheduler.scores(POD, *NAMES) == [0, 0, 0]
        assert counted(extender, Graded.SILENT) == 1


async def test_whatever_fails_scores_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0)
        monkeypatch.setattr(scoring, "score_nodes", fail)
        assert await scheduler.prioritize(by_names(POD, *NAMES)) == []
        assert counted(extender, Graded.ERROR) == 1


@pytest.mark.parametrize(
    ("body", "graded"),
    [
        pytest.param(b"<html>", Graded.MALFORMED, id="no JSON"),
        pytest.param(b"{}", Graded.MALFORMED, id="no pod"),
        pytest.param(
            json.dumps(by_names(POD, *map(str, range(5001)))).encode(),
            Graded.OVERSIZED,
            id="too many nodes",
        ),
        pytest.param(b" " * (MAX_BODY_BYTES + 1), Graded.OVERSIZED, id="too many bytes"),
    ],
)
async def test_what_is_no_question_gets_an_empty_list(
    tmp_path: Path, body: bytes, graded: Graded
) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, _):
        assert await scheduler.prioritize(body) == []
        assert counted(extender, graded) == 1


async def test_nothing_but_prioritize_is_answered(tmp_path: Path) -> None:
    async with an_extender(tmp_path) as (scheduler, _, _):
        for verb in ("filter", "bind", "preempt"):
            async with scheduler.session.post(f"{scheduler.url}/{verb}", json={}) as response:
                assert response.status == 404


async def test_a_question_that_does_not_arrive_is_answered_all_the_same(tmp_path: Path) -> None:
    async with an_extender(tmp_path) as (_, extender, _):
        extender.scorer.deadline_s = 0.05
        reader, writer = await asyncio.open_connection("127.0.0.1", extender.port)
        writer.write(b"POST /prioritize HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        answered = await asyncio.wait_for(reader.readuntil(b"[]"), 30.0)
        writer.close()
        assert answered.startswith(b"HTTP/1.1 200")
        assert counted(extender, Graded.LATE) == 1


class SlowClock:
    """A clock on which each look takes a given time: every answer is late, whatever it costs."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.step_s = 0.0

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


async def test_after_several_late_answers_none_is_computed_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, board):
        await told(extender, board, node_1=3, node_2=0)
        clock = SlowClock()
        monkeypatch.setattr(extender.scorer, "monotonic", clock)
        monkeypatch.setattr(extender.questions, "monotonic", clock)
        extender.scorer.hear()
        assert await scheduler.scores(POD, "node-1", "node-2") == [0, 10]
        clock.step_s = PATIENT_S + 1.0
        for _ in range(MOST_LATE):
            assert await scheduler.prioritize(by_names(POD, *NAMES)) == []
        clock.step_s = 0.0
        computed = []
        with monkeypatch.context() as during_rest:
            during_rest.setattr(scoring, "score_nodes", lambda *_: computed.append(1))
            for _ in range(7):
                assert await scheduler.prioritize(by_names(POD, *NAMES)) == []
        assert computed == []
        assert counted(extender, Graded.LATE) == MOST_LATE
        assert counted(extender, Graded.RESTING) == 7
        clock.now_s += REST_S
        extender.scorer.hear()
        assert await scheduler.scores(POD, "node-1", "node-2") != [0, 0]


async def test_pages_say_how_it_is(tmp_path: Path) -> None:
    async with an_extender(tmp_path, KNOWN) as (scheduler, extender, _):
        await scheduler.scores(POD, *NAMES)
        url = f"http://127.0.0.1:{extender.metrics_port}"
        assert await _page(scheduler, f"{url}/healthz") == (200, "ok\n")
        assert await _page(scheduler, f"{url}/readyz") == (200, "ok\n")
        _, text = await _page(scheduler, f"{url}/metrics")
        assert "plimsoll_extender_seconds_count 1.0" in text
        assert 'plimsoll_build_info{component="extender"' in text
        extender.drain()
        assert await _page(scheduler, f"{url}/readyz") == (503, "ending\n")


@pytest.mark.parametrize(
    ("unheard_s", "status"), [pytest.param(0.0, 200, id="late"), pytest.param(60.0, 503, id="new")]
)
async def test_without_a_feed_it_is_ready_after_a_while(
    tmp_path: Path, unheard_s: float, status: int
) -> None:
    settings = extender_settings(tmp_path, "http://127.0.0.1:1", unheard_s=unheard_s)
    async with running_extender(settings) as extender, aiohttp.ClientSession() as session:
        scheduler = Scheduler(session, "")
        page = await _page(scheduler, f"http://127.0.0.1:{extender.metrics_port}/readyz")
        assert page[0] == status


async def _page(scheduler: Scheduler, url: str) -> tuple[int, str]:
    async with scheduler.session.get(url) as response:
        return response.status, await response.text()
