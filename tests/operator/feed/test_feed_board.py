"""The controller's side of the feed: what each reader gets."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import aiohttp
import pytest

from plimsoll_operator.feed.board import MAX_MESSAGE_BYTES, MAX_REMOVALS, FeedBoard
from plimsoll_operator.feed.wire import FEED_PATH, BadMessage, FeedMessage, decode_message
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.nodes import a_node, nodes_of
from tests.rigs.servers.admission_servers import TOKEN, TRAIN, a_feed, knowledge_of

JOIN = TaskId("shop", "join")
NODES = nodes_of(a_node("16Gi"))


def a_board(max_message_bytes: int = 2**20) -> FeedBoard:
    board = FeedBoard("e1", max_message_bytes=max_message_bytes)
    board.set_defaults(Policy(), nodes=NODES)
    board.publish(knowledge_of(TRAIN))
    board.publish(knowledge_of(JOIN))
    return board


def told(board: FeedBoard, since: int = 0, epoch: str | None = "e1") -> FeedMessage:
    return decode_message(board.message(since, epoch))


def test_a_new_reader_is_told_everything() -> None:
    message = told(a_board(), epoch=None)
    assert message.full
    assert set(message.tasks) == {"shop/train", "shop/join"}
    assert message.defaults is not None
    assert message.defaults["nodes"] == NODES.to_document()
    assert message.defaults["largest_node_bytes"] is None, "older readers read nothing without it"
    assert message.revision == message.head == 3


@pytest.mark.parametrize(("since", "epoch"), [(3, "another"), (99, "e1"), (-1, "e1"), (0, None)])
def test_a_reader_from_elsewhere_starts_over(since: int, epoch: str | None) -> None:
    assert told(a_board(), since, epoch).full


def test_a_reader_is_told_only_what_changed_since() -> None:
    board = a_board()
    board.publish(replace(knowledge_of(TRAIN), runs=99))
    message = told(board, since=3)
    assert not message.full
    assert set(message.tasks) == {"shop/train"}
    assert message.tasks["shop/train"]["runs"] == 99
    assert message.defaults is None


def test_publishing_the_same_again_is_no_change() -> None:
    board = a_board()
    board.publish(knowledge_of(TRAIN))
    board.set_defaults(Policy(), nodes=NODES)
    assert board.revision == 3


def test_a_task_that_changes_often_is_told_once() -> None:
    board = a_board()
    for runs in range(50):
        board.publish(replace(knowledge_of(TRAIN), runs=runs))
    assert len(told(board, since=3).tasks) == 1


def test_removals_are_told_to_those_who_knew() -> None:
    board = a_board()
    board.remove(TRAIN)
    assert told(board, since=3).removed.tasks == ["shop/train"]
    assert told(board, epoch=None).removed.tasks == []
    board.publish(knowledge_of(TRAIN))
    assert told(board, since=3).removed.tasks == []
    assert set(told(board, since=3).tasks) == {"shop/train"}


def test_removing_what_is_not_there_is_no_change() -> None:
    board = a_board()
    board.remove(TaskId("shop", "unknown"))
    assert board.revision == 3


@pytest.mark.slow
def test_who_missed_too_many_removals_starts_over() -> None:
    board = FeedBoard("e1")
    for number in range(MAX_REMOVALS + 5):
        task = TaskId("shop", f"t{number}")
        board.publish(knowledge_of(task))
        board.remove(task)
    assert told(board, since=1).full
    assert not told(board, since=board.revision - 4).full


def test_namespaces_are_told_without_what_does_not_bound_memory() -> None:
    board = FeedBoard("e1")
    limit_range = {
        "metadata": {"name": "x", "managedFields": ["long"]},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]},
    }
    board.set_namespace("shop", policy=Policy(min_bytes=5), limit_ranges=[limit_range], quotas=[])
    told_of = told(board, epoch=None).namespaces["shop"]
    assert told_of["limit_ranges"] == [{"spec": limit_range["spec"]}]
    assert told_of["policy"]["min_bytes"] == 5
    board.set_namespace("shop", policy=None, limit_ranges=[], quotas=[])
    assert told(board, since=1).removed.namespaces == ["shop"]


def test_namespaces_that_are_crowded_are_told_and_taken_back() -> None:
    board = FeedBoard("e1")
    for crowded in ({"shop", "mall"}, {"mall", "shop"}):
        board.set_crowded(crowded)
    assert told(board, epoch=None).crowded == {"": {"namespaces": ["mall", "shop"]}}
    assert board.revision == 1
    board.set_crowded(set())
    assert told(board, since=1).removed.crowded == [""]


def test_the_use_of_a_quota_which_changes_with_every_pod_is_no_news() -> None:
    board = FeedBoard("e1")
    spec = {"hard": {"memory": "1Gi"}}
    for used in ("0", "1Mi", "2Mi"):
        quota = {"spec": spec, "status": {"used": {"memory": used}}}
        board.set_namespace("shop", policy=None, limit_ranges=[], quotas=[quota])
    assert board.revision == 1
    assert told(board, epoch=None).namespaces["shop"]["quotas"] == [{"spec": spec}]


def test_a_large_state_comes_in_parts_that_add_up() -> None:
    board = a_board(max_message_bytes=2000)
    for number in range(20):
        board.publish(knowledge_of(TaskId("shop", f"t{number}")))
    seen: dict[str, object] = {}
    message = told(board, epoch=None)
    parts = 1
    seen.update(message.tasks)
    while message.revision < message.head:
        message = told(board, since=message.revision)
        assert not message.full
        seen.update(message.tasks)
        parts += 1
    assert len(seen) == 22
    assert 3 < parts < 22


@pytest.mark.slow
def test_a_state_in_parts_is_read_to_its_end_even_after_many_removals() -> None:
    board = FeedBoard("e1", max_message_bytes=100)
    board.publish(knowledge_of(TRAIN))
    board.publish(knowledge_of(JOIN))
    for number in range(MAX_REMOVALS + 5):
        task = TaskId("shop", f"t{number}")
        board.publish(knowledge_of(task))
        board.remove(task)
    message = told(board, epoch=None)
    seen = set(message.tasks)
    # Each part is small, and no later part makes the reader start again.
    while message.revision < message.head:
        assert len(message.tasks) <= 1
        message = told(board, since=message.revision, epoch=message.epoch)
        assert not message.full
        seen |= set(message.tasks)
    assert seen == {"shop/train", "shop/join"}
    assert message.epoch == "e1"


@pytest.mark.slow
def test_what_was_told_and_removed_within_a_long_reading_makes_the_reader_start_over() -> None:
    board = FeedBoard("e1", max_message_bytes=100)
    board.publish(knowledge_of(TRAIN))
    board.publish(knowledge_of(JOIN))
    message = told(board, epoch=None)
    assert set(message.tasks) == {"shop/train"}
    board.remove(TRAIN)
    for number in range(MAX_REMOVALS + 5):
        task = TaskId("shop", f"t{number}")
        board.publish(knowledge_of(task))
        board.remove(task)
    assert told(board, since=message.revision, epoch=message.epoch).full


async def test_a_reader_that_knows_all_waits_for_a_change() -> None:
    board = a_board()
    waiting = [asyncio.create_task(board.wait(3, "e1", 60)) for _ in range(3)]
    await asyncio.sleep(0)
    board.remove(JOIN)
    for message in await asyncio.gather(*waiting):
        assert decode_message(message).removed.tasks == ["shop/join"]


async def test_a_reader_is_answered_without_a_change_when_the_time_is_over() -> None:
    message = decode_message(await a_board().wait(3, "e1", 0.01))
    assert (message.tasks, message.revision) == ({}, 3)


async def test_a_reader_that_is_behind_does_not_wait() -> None:
    message = decode_message(await a_board().wait(1, "e1", 60))
    assert len(message.tasks) == 2


async def test_only_the_bearer_of_the_token_is_answered() -> None:
    async with a_feed(a_board()) as url, aiohttp.ClientSession() as session:

        async def status(token: str | None, query: str = "") -> int:
            headers = {} if token is None else {"Authorization": token}
            async with session.get(f"{url}{FEED_PATH}{query}", headers=headers) as response:
                return response.status

        assert await status(None) == 401
        assert await status("Bearer other") == 401
        assert await status(TOKEN) == 401
        assert await status(f"Bearer {TOKEN}") == 200
        assert await status(f"Bearer {TOKEN}", "?since=x") == 400
        assert await status(f"Bearer {TOKEN}", "?wait_s=nan") == 200


async def test_a_token_of_bytes_that_are_no_text_is_a_wrong_one() -> None:
    async with a_feed(a_board()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        asked = f"GET {FEED_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ".encode()
        writer.write(asked + b"\xff\xfe\r\n\r\n")
        assert (await reader.readline()).split()[1] == b"401"
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"<html>",
        b'{"epoch":1,"revision":0,"head":0,"full":true,"defaults":null,"namespaces":{},"tasks":{},'
        b'"removed":{"tasks":[],"namespaces":[]}}',
        b'{"epoch":"e","revision":5,"head":1,"full":true,"defaults":null,"namespaces":{},'
        b'"tasks":{},"removed":{"tasks":[],"namespaces":[]}}',
        b'{"epoch":"e","revision":0,"head":1,"full":true,"defaults":3,"namespaces":{},'
        b'"tasks":{},"removed":{"tasks":[],"namespaces":[]}}',
    ],
)
def test_what_is_no_message_is_a_clear_error(text: bytes) -> None:
    with pytest.raises(BadMessage, match="feed"):
        decode_message(text)


def test_a_change_that_no_message_could_carry_is_not_told_and_counted() -> None:
    board = a_board()
    before, revision = told(board, epoch=None).tasks["shop/train"], board.revision
    lifts = {f"{number}{'x' * 2000}": Lift(2, 2, 1) for number in range(1000)}
    board.publish(replace(knowledge_of(TRAIN), lifts=lifts))
    assert board.revision == revision
    assert board.untold["tasks"] == 1
    assert told(board, epoch=None).tasks["shop/train"] == before


def test_no_message_is_larger_than_its_bound_however_many_runs_were_killed() -> None:
    board = a_board()
    lifts = {f"{number:04}{'x' * 196}": Lift(2**40, 2, 2**39) for number in range(1000)}
    for number in range(20):
        board.publish(replace(knowledge_of(TaskId("evil", f"t{number}")), lifts=lifts))
    message, read = told(board, epoch=None), 0
    while True:
        read += len(message.tasks)
        if message.revision == message.head:
            break
        text = board.message(message.revision, message.epoch)
        assert len(text) <= MAX_MESSAGE_BYTES + 1024
        message = decode_message(text)
    assert read == 22
    assert board.untold.total() == 0
