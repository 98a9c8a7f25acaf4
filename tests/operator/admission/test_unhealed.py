"""While nobody would lift a killed run, admission raises sizes and lowers none."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from plimsoll_operator.admission.freshness import MAX_SILENCE_S, MAX_UNANSWERED_S, Freshness
from plimsoll_operator.admission.snapshot import load_snapshot, take_snapshot, write_snapshot
from plimsoll_operator.controller.tasks.healing import UNSEEN
from plimsoll_operator.feed.applying import apply
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import WAIT_S, FeedClient, FeedSource, Position
from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.processes.admission import Running, running
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from tests.builders.pods import APod, a_pod, decision_of, memory_of
from tests.rigs.servers.admission_servers import (
    TOKEN,
    Caller,
    a_feed,
    a_server,
    knowledge_of,
    patch_in,
    settings_in,
    until_true,
)

LARGE = a_pod().asking("4Gi").limited("4Gi")
SMALL = a_pod().asking("64Mi").limited("64Mi")
STORE = "the controller's store cannot be written"


async def sized(caller: Caller, pod: APod = LARGE) -> tuple[str | None, str | None]:
    return memory_of(pod.patched(patch_in(await caller.review(pod))))


def lowering(server: Running) -> float | None:
    return server.metrics.registry.get_sample_value("plimsoll_admission_lowering")


@pytest.mark.parametrize(
    ("freshness", "words"),
    [
        pytest.param(Freshness(86_400.0), "was not heard since", id="nothing heard or loaded"),
        pytest.param(
            Freshness(86_400.0, heard_s=995.0), "was not heard since", id="only a snapshot"
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=999.0 - MAX_SILENCE_S, from_feed=True),
            "silent for too long",
            id="silent for more than ten minutes",
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=1001.0 - MAX_SILENCE_S, from_feed=True),
            None,
            id="silent for a little less",
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=980.0, from_feed=True, failed_s=999.0 - MAX_UNANSWERED_S),
            "does not answer",
            id="its questions fail",
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=980.0, from_feed=True, failed_s=1001.0 - MAX_UNANSWERED_S),
            None,
            id="a question failed just now",
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=980.0, from_feed=True, due_s=999.0 - MAX_UNANSWERED_S),
            "does not answer",
            id="a question hangs",
        ),
        pytest.param(
            Freshness(86_400.0, heard_s=980.0, from_feed=True, due_s=1001.0 - MAX_UNANSWERED_S),
            None,
            id="an answer is late",
        ),
    ],
)
def test_a_controller_that_is_not_heard_heals_nothing(
    freshness: Freshness, words: str | None
) -> None:
    unhealed = freshness.unhealed(1000.0)
    assert (unhealed is None) if words is None else words in str(unhealed)


def test_a_controller_that_answers_again_heals_again() -> None:
    freshness = Freshness(86_400.0)
    freshness.hear(1000.0)
    freshness.fail(1001.0)
    freshness.fail(1005.5)
    assert freshness.unhealed(1005.9) is None
    assert freshness.unhealed(1006.1) == "the controller does not answer"
    freshness.hear(1007.0)
    assert freshness.unhealed(1007.1) is None


def test_a_question_that_hung_failed_when_its_answer_was_due() -> None:
    """Else sizes would be lowered again while the next question is asked."""
    freshness = Freshness(86_400.0)
    freshness.hear(1000.0)
    freshness.ask(1005.0)
    assert freshness.unhealed(1009.9) is None
    assert freshness.unhealed(1010.1) == "the controller does not answer"
    freshness.fail(1020.0)
    freshness.ask(1020.5)
    assert freshness.unhealed(1020.6) == "the controller does not answer"
    freshness.hear(1020.7)
    freshness.ask(1025.7)
    assert freshness.unhealed(1030.6) is None


async def test_a_controller_that_goes_without_a_word_is_noticed_when_its_answer_is_overdue(
    tmp_path: Path,
) -> None:
    """Its node lost power: the connection stays, and nothing comes. No pod waits for its turn."""
    gone, hung = asyncio.Event(), asyncio.Event()

    @web.middleware
    async def answers_until_gone(request: web.Request, handler: Any) -> Any:
        if gone.is_set():
            hung.set()
            await asyncio.Event().wait()
        return await handler(request)

    board, policy = FeedBoard("epoch-1"), Policy(mode=Mode.ENFORCE)
    board.set_defaults(policy)
    async with (
        a_feed(board, middlewares=[answers_until_gone]) as url,
        running(settings_in(tmp_path, url)) as server,
    ):
        await until_true(lambda: board.readers == 1)
        gone.set()
        board.set_defaults(policy, paused=True)  # so that the open question is answered
        await hung.wait()
        due_s = server.freshness.due_s
        assert due_s is not None
        assert due_s <= time.monotonic() + WAIT_S
        assert server.freshness.unhealed(due_s) is None
        words = server.freshness.unhealed(due_s + MAX_UNANSWERED_S + 0.1)
        assert words == "the controller does not answer"


async def test_a_new_controller_is_heard_once_all_that_it_says_is_in_use(tmp_path: Path) -> None:
    """Before, sizes would be lowered by what the one knew that is gone."""
    policy, state, freshness = Policy(mode=Mode.ENFORCE), AdmissionState(), Freshness(86_400.0)
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    gone, new = FeedBoard("epoch-1"), FeedBoard("epoch-2", max_message_bytes=500)
    gone.set_defaults(policy)
    new.set_defaults(policy, unhealed=UNSEEN)
    for number in range(5):
        new.publish(knowledge_of(TaskId("shop", f"t{number}")))
    async with a_feed(gone) as first, a_feed(new) as second, aiohttp.ClientSession() as session:
        client = FeedClient(
            source=FeedSource(first, token_file),
            state=state,
            heard=lambda: freshness.hear(1000.0),
            failed=lambda _: None,
            jitter=random.Random(1),
            asked=lambda wait_s: freshness.ask(1000.0 + wait_s),
        )
        await client.ask(session)
        assert (state.unhealed, freshness.unhealed(1000.0)) == (None, None)
        freshness.fail(1000.0)
        client.source = FeedSource(second, token_file)
        words: list[str | None] = []
        while UNSEEN not in words:
            await client.ask(session)
            words.append(freshness.unhealed(1010.0) or state.unhealed)
    assert len(words) > 2
    assert set(words[:-1]) == {"the controller does not answer"}


def test_it_is_noticed_before_a_job_makes_its_second_pod() -> None:
    assert WAIT_S + MAX_UNANSWERED_S <= 10.0


async def test_a_silent_feed_stops_lowering_and_not_raising(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        assert await sized(caller) == ("1127Mi", "1127Mi")
        server.freshness.max_silence_s = -1.0
        answer = LARGE.patched(patch_in(await caller.review(LARGE)))
        assert memory_of(answer) == ("4Gi", "4Gi")
        assert decision_of(answer)["reason"] == "not-lowered"
        assert "silent" in decision_of(answer)["why"]
        assert await sized(caller, SMALL) == ("1127Mi", "1127Mi")
        base = f"http://127.0.0.1:{server.metrics_port}"
        async with caller.session.get(f"{base}/readyz") as ready:
            assert ready.status == 200
            assert "not lowered: the controller has been silent" in await ready.text()
        async with caller.session.get(f"{base}/metrics"):
            assert lowering(server) == 0.0


async def test_a_store_that_cannot_be_written_stops_lowering_until_it_can(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, board):
        policy = Policy(mode=Mode.ENFORCE)
        board.set_defaults(policy, unhealed=STORE)
        await until_true(lambda: server.state.unhealed == STORE)
        assert await sized(caller) == ("4Gi", "4Gi")
        board.set_defaults(policy)
        await until_true(lambda: server.state.unhealed is None)
        assert await sized(caller) == ("1127Mi", "1127Mi")
        async with caller.session.get(f"http://127.0.0.1:{server.metrics_port}/metrics"):
            assert lowering(server) == 1.0


def test_a_snapshot_keeps_it_and_one_of_an_older_version_says_nothing(tmp_path: Path) -> None:
    """The feed sends only what changed since the snapshot, so the snapshot has to say this."""
    path = tmp_path / "snapshot"
    write_snapshot(path, take_snapshot(AdmissionState(unhealed=STORE), Position("e", 1), 0.0))
    read = AdmissionState()
    load_snapshot(path, read)
    assert read.unhealed == STORE
    older = {"policy": Policy().to_dict(), "largest_node_bytes": None}
    apply(read, ChangeKind.DEFAULTS, "", older)
    assert read.unhealed is None
