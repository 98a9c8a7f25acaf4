"""Admission's side of the feed: what it keeps of the messages."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from plimsoll_operator.feed import client as feed_client
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedError, FeedSource, Position
from plimsoll_operator.feed.wire import BadMessage, decode_message
from plimsoll_operator.sizing.bounds.nodes import NO_NODES
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from tests.builders.nodes import a_node, nodes_of
from tests.rigs.servers.admission_servers import TOKEN, TRAIN, a_feed, knowledge_of, until_true
from tests.rigs.servers.serving import answering, serving

JOIN = TaskId("shop", "join")


class Reader:
    """A client and what it reported."""

    def __init__(self, folder: Path, url: str = "http://127.0.0.1:1") -> None:
        token_file = folder / "token"
        token_file.write_text(TOKEN)
        self.heard = 0
        self.due_within_s: list[float] = []
        self.failures: Counter[str] = Counter()
        self.state = AdmissionState()
        self.client = FeedClient(
            source=FeedSource(url, token_file),
            state=self.state,
            heard=self._hear,
            failed=lambda reason: self.failures.update([reason]),
            jitter=random.Random(1),
            asked=self.due_within_s.append,
        )

    def _hear(self) -> None:
        self.heard += 1

    async def take(self, board: FeedBoard) -> None:
        """Read on to the board's newest revision."""
        while True:
            position = self.client.position
            text = board.message(position.revision, position.epoch)
            await self.client.take(decode_message(text))
            if self.client.position.revision == board.revision:
                return

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.client.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


NODES = nodes_of(a_node("16Gi", labels={"pool": "big"}, taints=[("gpu", "", "NoSchedule")]))


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.fixture
def board() -> FeedBoard:
    board = FeedBoard("e1")
    board.set_defaults(Policy(mode=Mode.ENFORCE), nodes=NODES)
    board.publish(knowledge_of(TRAIN))
    return board


async def test_what_the_board_holds_arrives_as_it_was(reader: Reader, board: FeedBoard) -> None:
    board.set_namespace(
        "shop",
        policy=Policy(min_bytes=5),
        limit_ranges=[{"spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}}],
        quotas=[],
    )
    await reader.take(board)
    assert reader.state.tasks == {TRAIN: knowledge_of(TRAIN)}
    assert reader.state.default_policy.mode is Mode.ENFORCE
    assert reader.state.nodes == NODES
    assert reader.state.namespace("shop").policy == Policy(min_bytes=5)
    assert reader.state.namespace("shop").bounds.most == GIB


async def test_an_older_controllers_largest_node_caps_nothing(
    reader: Reader, board: FeedBoard
) -> None:
    await reader.take(board)
    text = orjson.loads(board.message(0, None))
    text.update(defaults={"policy": Policy().to_dict(), "largest_node_bytes": GIB})
    await reader.client.take(decode_message(orjson.dumps(text)))
    assert reader.state.nodes == NO_NODES
    assert reader.failures == {}


async def test_changes_and_removals_arrive(reader: Reader, board: FeedBoard) -> None:
    await reader.take(board)
    board.publish(knowledge_of(JOIN))
    board.publish(replace(knowledge_of(TRAIN), runs=77))
    await reader.take(board)
    assert reader.state.tasks[TRAIN].runs == 77
    assert JOIN in reader.state.tasks
    board.remove(TRAIN)
    await reader.take(board)
    assert set(reader.state.tasks) == {JOIN}


async def test_a_new_controller_replaces_everything(reader: Reader, board: FeedBoard) -> None:
    await reader.take(board)
    new = FeedBoard("e2")
    new.publish(knowledge_of(JOIN))
    await reader.take(new)
    assert set(reader.state.tasks) == {JOIN}
    assert reader.client.position == Position("e2", 1)


async def test_a_state_in_parts_is_used_once_it_is_whole(reader: Reader) -> None:
    before = FeedBoard("e1")
    before.publish(knowledge_of(TRAIN))
    await reader.take(before)
    board = FeedBoard("e2", max_message_bytes=500)
    for number in range(5):
        board.publish(knowledge_of(TaskId("shop", f"t{number}")))
    await reader.client.take(decode_message(board.message(0, None)))
    assert set(reader.state.tasks) == {TRAIN}
    assert not reader.client.settled
    await reader.take(board)
    assert len(reader.state.tasks) == 5
    assert reader.client.settled


async def test_a_controller_is_heard_once_its_state_is_in_use(tmp_path: Path) -> None:
    """A replica that begins would size pods by nothing, and say that it is ready."""
    board = FeedBoard("e1", max_message_bytes=500)
    for number in range(5):
        board.publish(knowledge_of(TaskId("shop", f"t{number}")))
    async with a_feed(board) as url, aiohttp.ClientSession() as session:
        reader = Reader(tmp_path, url)
        heard = []
        while reader.heard == 0:
            await reader.client.ask(session)
            heard.append((reader.client.settled, reader.heard))
        assert len(heard) > 1
        assert heard == [(False, 0)] * (len(heard) - 1) + [(True, 1)]
        # What another controller says counts once it is in use, too.
        reader.client.position = Position()
        await reader.client.ask(session)
        assert (reader.client.settled, reader.heard) == (False, 1)


async def test_each_question_says_within_which_time_its_answer_is_due(
    tmp_path: Path, board: FeedBoard
) -> None:
    async with a_feed(board) as url, aiohttp.ClientSession() as session:
        reader = Reader(tmp_path, url)
        await reader.client.ask(session)
        board.publish(knowledge_of(JOIN))
        await reader.client.ask(session)
    # Until it is heard, the controller is to answer at once.
    assert reader.due_within_s == [0.0, feed_client.WAIT_S]


def message_with(**tasks: Any) -> bytes:
    return orjson.dumps(
        {
            "epoch": "e1",
            "revision": 1,
            "head": 1,
            "full": True,
            "defaults": None,
            "namespaces": {},
            "tasks": {f"shop/{name}": data for name, data in tasks.items()},
            "removed": {"tasks": [], "namespaces": []},
        }
    )


@pytest.mark.parametrize(
    "bad",
    [
        None,
        3,
        [],
        {},
        "x",
        {**knowledge_of(TaskId("shop", "bad")).to_dict(), "policy": {"mode": "sometimes"}},
        {**knowledge_of(TaskId("shop", "bad")).to_dict(), "model": {"format": "?"}},
        {**knowledge_of(TaskId("shop", "bad")).to_dict(), "lifts": {"r": [1]}},
        knowledge_of(TaskId("shop", "another")).to_dict(),
    ],
)
async def test_one_bad_entry_does_not_spoil_the_others(reader: Reader, bad: Any) -> None:
    tasks = {"bad": bad, "train": knowledge_of(TRAIN).to_dict()}
    await reader.client.take(decode_message(message_with(**tasks)))
    assert set(reader.state.tasks) == {TRAIN}
    # A null alone is a removal; everything else is counted.
    assert reader.failures == ({} if bad is None else {"bad-entry": 1})


async def test_bad_defaults_leave_what_was_known_and_bad_namespaces_only_recommend(
    reader: Reader, board: FeedBoard
) -> None:
    await reader.take(board)
    text = orjson.loads(board.message(0, None))
    text.update(
        full=False,
        defaults={"policy": {"mode": "x"}, "nodes": {}},
        namespaces={"shop": {"policy": None}, "other": 3},
    )
    await reader.client.take(decode_message(orjson.dumps(text)))
    assert reader.state.default_policy.mode is Mode.ENFORCE
    policies = {name: each.policy for name, each in reader.state.namespaces.items()}
    only_recommended = Policy(mode=Mode.RECOMMEND)
    assert policies == {"shop": only_recommended, "other": only_recommended}
    assert reader.failures["bad-entry"] == 3


async def test_a_task_whose_news_nobody_can_read_is_not_lowered_by_what_was_known(
    reader: Reader, board: FeedBoard
) -> None:
    await reader.take(board)
    assert TRAIN in reader.state.tasks
    text = orjson.loads(board.message(0, None))
    unreadable = {**knowledge_of(TRAIN).to_dict(), "lifts": {"run": [1]}}
    text.update(full=False, tasks={str(TRAIN): unreadable})
    await reader.client.take(decode_message(orjson.dumps(text)))
    assert TRAIN not in reader.state.tasks


async def test_a_task_whose_news_nobody_can_read_gets_no_first_size_until_they_can_be_read(
    reader: Reader, board: FeedBoard
) -> None:
    """Its lifts are unknown: a killed run's next attempt would be lowered as if it were new."""
    board.set_defaults(Policy(mode=Mode.ENFORCE, first_size=0.75))
    await reader.take(board)
    text = orjson.loads(board.message(0, None))
    text.update(full=False, tasks={str(TRAIN): 3})
    await reader.client.take(decode_message(orjson.dumps(text)))
    assert reader.state.knowledge_of(TRAIN).policy == Policy(mode=Mode.ENFORCE)
    assert reader.state.knowledge_of(JOIN).policy.first_size == 0.75
    text.update(tasks={str(TRAIN): knowledge_of(TRAIN).to_dict()})
    await reader.client.take(decode_message(orjson.dumps(text)))
    text.update(tasks={str(TRAIN): None})
    await reader.client.take(decode_message(orjson.dumps(text)))
    assert reader.state.knowledge_of(TRAIN).policy.first_size == 0.75


async def test_new_tasks_of_a_crowded_namespace_get_no_first_size(
    reader: Reader, board: FeedBoard
) -> None:
    """The controller may turn them away, and would not lift their runs."""
    policy = Policy(mode=Mode.ENFORCE, first_size=0.75)
    board.set_defaults(policy)
    board.set_crowded({"shop"})
    await reader.take(board)
    assert reader.state.knowledge_of(JOIN).policy == Policy(mode=Mode.ENFORCE)
    assert reader.state.knowledge_of(TaskId("mall", "join")).policy == policy
    board.set_crowded(())
    await reader.take(board)
    assert reader.state.knowledge_of(JOIN).policy == policy


async def test_it_follows_a_real_feed(tmp_path: Path, board: FeedBoard) -> None:
    async with a_feed(board) as url:
        reader = Reader(tmp_path, url)
        async with reader.running():
            await until_true(lambda: TRAIN in reader.state.tasks)
            board.publish(knowledge_of(JOIN))
            # A message counts as heard when all of it is taken: after its first task is seen.
            await until_true(lambda: JOIN in reader.state.tasks and reader.heard >= 2)
    assert not reader.failures


@pytest.mark.slow
async def test_a_slow_answer_of_which_something_comes_is_read_to_its_end(
    tmp_path: Path, board: FeedBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_client, "ANSWER_WITHIN_S", 0.5)

    @web.middleware
    async def slowly(request: web.Request, handler: Any) -> web.StreamResponse:
        body = (await handler(request)).body
        answer = web.StreamResponse()
        await answer.prepare(request)
        step = len(body) // 8 + 1
        for start in range(0, len(body), step):
            await answer.write(body[start : start + step])
            await asyncio.sleep(feed_client.ANSWER_WITHIN_S / 5)
        return answer

    async with a_feed(board, middlewares=[slowly]) as url:
        reader = Reader(tmp_path, url)
        reader.client.wait_s = 0.0
        async with reader.running():
            await until_true(lambda: TRAIN in reader.state.tasks)


@pytest.mark.parametrize("broken", [None, b"", b"\xff\xfe", b"two\nlines", b"x" * 20_000])
async def test_a_broken_token_is_waited_over(
    tmp_path: Path, board: FeedBoard, monkeypatch: pytest.MonkeyPatch, broken: bytes | None
) -> None:
    monkeypatch.setattr(feed_client, "FIRST_PAUSE_S", 0.01)
    async with a_feed(board) as url:
        reader = Reader(tmp_path, url)
        token_file = reader.client.source.token_file
        if broken is None:
            token_file.unlink()
        else:
            token_file.write_bytes(broken)
        async with reader.running():
            await until_true(lambda: reader.failures.total() >= 2)
            token_file.write_text(TOKEN)
            await until_true(lambda: TRAIN in reader.state.tasks)


async def test_it_comes_back_after_the_controller_was_away(
    tmp_path: Path, board: FeedBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_client, "FIRST_PAUSE_S", 0.01)
    async with a_feed(board) as url:
        reader = Reader(tmp_path, url)
        task = asyncio.create_task(reader.client.run())
        await until_true(lambda: TRAIN in reader.state.tasks)
    await until_true(lambda: reader.failures["unanswered"] >= 2)
    assert TRAIN in reader.state.tasks
    restarted = FeedBoard("e2")
    restarted.publish(knowledge_of(JOIN))
    async with a_feed(restarted, port=int(url.rpartition(":")[2])):
        await until_true(lambda: set(reader.state.tasks) == {JOIN})
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (401, b"", FeedError),
        (500, b"", FeedError),
        (302, b"", FeedError),
        (200, b"<html>", BadMessage),
        (200, b"{}", BadMessage),
    ],
)
async def test_a_foreign_server_changes_nothing(
    tmp_path: Path, status: int, text: bytes, error: type[Exception]
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, body=text, headers={"Location": "http://127.0.0.1:1/"})

    async with serving(answering(answer)) as url, aiohttp.ClientSession() as session:
        reader = Reader(tmp_path, url)
        with pytest.raises(error):
            await reader.client.ask(session)
    assert reader.heard == 0
    assert reader.client.position == Position()
