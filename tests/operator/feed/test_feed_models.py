"""Models on the feed: each travels once, for every reader, whatever else changes."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.feed import board as board_module
from plimsoll_operator.feed.applying import apply, steps
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedSource
from plimsoll_operator.feed.wire import FEED_PATH, VERSION, FeedMessage, decode_message
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from tests.builders.training.models import a_model
from tests.rigs.drawing import examples
from tests.rigs.servers.admission_servers import TOKEN, TRAIN, a_feed, knowledge_of

TASKS = tuple(TaskId("shop", f"t{number}") for number in range(3))
MODELS: tuple[Model | None, ...] = (None, a_model(256), a_model(512), a_model(768))

BEARER = {"Authorization": f"Bearer {TOKEN}"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Reader:
    """What a reader of one version has understood, and how far it has read."""

    version: int
    state: AdmissionState
    epoch: str | None = None
    revision: int = 0

    def read(self, board: FeedBoard) -> FeedMessage:
        """Ask once."""
        text = board.message(self.revision, self.epoch, version=self.version)
        message = decode_message(text)
        if message.full:
            self.state = AdmissionState()
        for kind, name, data in steps(message):
            apply(self.state, kind, name, data)
        self.epoch, self.revision = message.epoch, message.revision
        return message

    def read_all(self, board: FeedBoard) -> None:
        """Ask until nothing is left."""
        for _ in range(1000):
            if self.read(board).revision == board.revision:
                return
        raise AssertionError("a reader was never told all")


def a_reader(version: int = VERSION) -> Reader:
    return Reader(version, AdmissionState())


def with_model(model: Model | None, runs: int = 20, task: TaskId = TRAIN) -> Knowledge:
    return replace(knowledge_of(task), model=model, runs=runs)


def test_what_a_task_learns_is_told_without_its_model() -> None:
    board, reader = FeedBoard("e1"), a_reader()
    board.publish(with_model(MODELS[1]))
    whole = len(board.message(0, None))
    reader.read_all(board)
    board.publish(with_model(MODELS[1], runs=21))
    news = board.message(reader.revision, "e1")
    message = reader.read(board)
    assert (set(message.tasks), set(message.models)) == ({"shop/train"}, set())
    assert len(news) < whole - 500
    assert reader.state.tasks[TRAIN] == with_model(MODELS[1], runs=21)


def test_a_model_that_was_read_again_and_is_the_same_is_no_news() -> None:
    board = FeedBoard("e1")
    board.publish(with_model(a_model(256)))
    revision = board.revision
    board.publish(with_model(a_model(256)))
    assert board.revision == revision


def test_a_new_model_comes_before_the_task_that_is_to_use_it() -> None:
    board, reader = FeedBoard("e1", max_message_bytes=1), a_reader()
    board.publish(with_model(MODELS[1]))
    first, second = reader.read(board), reader.read(board)
    assert (set(first.models), set(first.tasks)) == ({"shop/train"}, set())
    assert (set(second.models), set(second.tasks)) == (set(), {"shop/train"})
    assert reader.state.tasks[TRAIN].model == MODELS[1]


def test_a_task_that_went_and_is_met_again_has_no_model_left() -> None:
    board, reader = FeedBoard("e1"), a_reader()
    board.publish(with_model(MODELS[1]))
    reader.read_all(board)
    board.remove(TRAIN)
    board.publish(with_model(None))
    reader.read_all(board)
    assert reader.state.tasks[TRAIN].model is None
    assert reader.state.models == {}


def test_a_reader_from_before_gets_each_task_with_its_model_in_it() -> None:
    board = FeedBoard("e1")
    board.publish(with_model(MODELS[1]))
    body = orjson.loads(board.message(0, None, version=1))
    assert Knowledge.from_dict(body["tasks"]["shop/train"]) == with_model(MODELS[1])
    assert "models" not in body
    assert set(body["removed"]) == {"tasks", "namespaces"}
    revision = board.revision
    board.publish(with_model(MODELS[2]))
    body = orjson.loads(board.message(revision, "e1", version=1))
    assert Knowledge.from_dict(body["tasks"]["shop/train"]) == with_model(MODELS[2])


def test_a_controller_from_before_is_understood() -> None:
    """Its messages know no models beside tasks."""
    body = orjson.loads(FeedBoard("e1").message(0, None))
    body["tasks"] = {"shop/train": with_model(MODELS[1]).to_dict()}
    state = AdmissionState()
    for kind, name, data in steps(decode_message(orjson.dumps(body))):
        apply(state, kind, name, data)
    assert state.tasks[TRAIN] == with_model(MODELS[1])
    body["tasks"] = {"shop/train": with_model(None).to_dict()}
    for kind, name, data in steps(decode_message(orjson.dumps(body))):
        apply(state, kind, name, data)
    assert state.tasks[TRAIN].model is None


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, VERSION])
@examples(150)
@given(
    events=st.lists(
        st.tuples(
            st.sampled_from(["publish", "publish", "remove", "read"]),
            st.integers(0, len(TASKS) - 1),
            st.integers(0, len(MODELS) - 1),
            st.integers(1, 3),
        ),
        max_size=30,
    ),
    max_message_bytes=st.sampled_from([1, 2000, 2**20]),
)
def test_whenever_a_reader_asks_it_comes_to_what_the_controller_knows(
    version: int, events: list[tuple[str, int, int, int]], max_message_bytes: int
) -> None:
    board, reader = FeedBoard("e1", max_message_bytes=max_message_bytes), a_reader(version)
    known: dict[TaskId, Knowledge] = {}
    for what, task_number, model_number, runs in events:
        task = TASKS[task_number]
        if what == "publish":
            known[task] = with_model(MODELS[model_number], runs, task)
            board.publish(known[task])
        elif what == "remove":
            known.pop(task, None)
            board.remove(task)
        else:
            reader.read(board)
    reader.read_all(board)
    assert reader.state.tasks == known
    assert reader.state.models == {
        task: each.model for task, each in known.items() if each.model is not None
    }


async def test_a_client_says_which_messages_it_understands(tmp_path: Path) -> None:
    board, asked = FeedBoard("e1"), list[str]()

    @web.middleware
    async def listen(request: web.Request, handler: Handler) -> web.StreamResponse:
        asked.append(request.query.get("v", "1"))
        return await handler(request)

    board.publish(with_model(MODELS[1]))
    async with a_feed(board, middlewares=[listen]) as url, aiohttp.ClientSession() as session:
        (tmp_path / "token").write_text(TOKEN)
        state = AdmissionState()
        source = FeedSource(url, tmp_path / "token")
        client = FeedClient(source, state, lambda: None, lambda _: None, random.Random(1))
        await client.ask(session)
        assert state.tasks[TRAIN] == with_model(MODELS[1])
        async with session.get(f"{url}{FEED_PATH}", headers=BEARER) as answer:
            assert "model" in (await answer.json())["tasks"]["shop/train"]
        async with session.get(f"{url}{FEED_PATH}?v=new", headers=BEARER) as answer:
            assert answer.status == 400
    assert asked == [str(VERSION), "1", "new"]


def test_models_share_their_room_by_namespace_and_a_task_goes_on_without() -> None:
    document = a_model(256).to_dict()
    model_bytes = len(orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY))
    board = FeedBoard("e1", max_models_bytes=6 * (model_bytes + 20))
    board.publish(replace(knowledge_of(TRAIN), model=a_model(256)))
    without_room = list[TaskId]()
    for number in range(20):
        task = TaskId("evil", f"t{number:02}")
        without_room += board.publish(replace(knowledge_of(task), model=a_model(256)))
    reader = Reader(VERSION, AdmissionState())
    while reader.read(board).revision < board.revision:
        continue
    assert reader.state.tasks[TRAIN].model is not None
    assert len(reader.state.tasks) == 21
    with_model = [task for task, known in reader.state.tasks.items() if known.model is not None]
    assert 4 <= len(with_model) <= 6
    assert TaskId("evil", "t19") in with_model
    assert board.untold["models"] == 21 - len(with_model)
    assert {*without_room} == {*reader.state.tasks} - {*with_model}


def test_a_model_that_is_too_large_takes_the_one_before_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board, reader = FeedBoard("e1"), a_reader()
    assert board.publish(with_model(a_model(256))) == []
    reader.read_all(board)
    monkeypatch.setattr(board_module, "MAX_CHANGE_BYTES", 300)
    assert board.publish(with_model(a_model(512))) == [TRAIN]
    reader.read_all(board)
    assert reader.state.tasks[TRAIN] == with_model(None)
    assert board.untold["models"] == 1
