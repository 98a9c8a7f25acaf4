"""Hints at nodes, from the feed to the answer; if anything fails, the pod still has its size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plimsoll_operator.admission import guarded
from plimsoll_operator.feed import client as feed_client
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import ChangeKind, decode_message
from plimsoll_operator.names import labels
from plimsoll_operator.processes.admission import Running, running
from plimsoll_operator.sizing import node_hint
from plimsoll_operator.sizing.node_hint import MOST_SILENCE_S
from plimsoll_predictor.core.policy import Placing
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.hinting import MOST_NODES
from plimsoll_predictor.placing.loads import NodeLoad
from tests.builders.placing.told_nodes import PREFERRED, costs_of, tell_nodes
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.servers.admission_servers import (
    TRAIN,
    Caller,
    a_feed,
    a_server,
    calling,
    knowledge_of,
    patch_in,
    settings_in,
    until_true,
)

KNOWN = knowledge_of(placing=Placing.ENFORCE)
POD = a_pod().asking("2Gi").limited("2Gi")
SIZED = ("1127Mi", "1127Mi")


async def admitted(caller: Caller, pod: APod = POD) -> APod:
    return pod.patched(patch_in(await caller.review(pod)))


def preferred(pod: APod) -> list[dict[str, Any]]:
    affinity = pod.built()["spec"].get("affinity") or {}
    found: list[dict[str, Any]] = affinity.get("nodeAffinity", {}).get(PREFERRED, [])
    return found


def counted(server: Running, result: str) -> float | None:
    return server.metrics.registry.get_sample_value(
        "plimsoll_placing_hints_total", {"result": result}
    )


async def test_a_new_pod_prefers_the_node_that_the_feed_makes_best(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0, node_3=3)
        await until_true(lambda: len(server.state.placing) == 3)
        pod = await admitted(caller)
        assert memory_of(pod) == SIZED
        assert [term["weight"] for term in preferred(pod)] == [60, 40]
        assert preferred(pod)[0]["preference"]["matchExpressions"] == [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}
        ]
        assert counted(server, "given") == 1
        board.set_host("node-2", None)
        board.set_host("node-1", [])
        await until_true(lambda: len(server.state.placing) == 2)
        assert "node-1" in str(preferred(await admitted(caller)))


async def test_a_burst_is_not_sent_to_one_node(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=9, **{f"free_{number}": 0 for number in range(6)})
        await until_true(lambda: len(server.state.placing) == 7)
        best = set()
        for _ in range(6):
            terms = preferred(await admitted(caller))
            best.add(terms[0]["preference"]["matchExpressions"][0]["values"][0])
        assert len(best) == 6


async def test_a_full_node_is_not_preferred_while_that_is_known(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0, node_3=0)
        board.set_load("node-2", NodeLoad(8000, 8000, 100))
        await until_true(lambda: server.state.placing.has_loads)
        for load in (NodeLoad(8000, 8000, 100), None):
            if load is None:
                board.set_load("node-2", None)
                await until_true(lambda: not server.state.placing.has_loads)
            tried = POD.patched(patch_in(await caller.review(POD, dryRun=True)))
            assert "node-3" in str(preferred(tried))
            assert ("node-2" in str(preferred(tried))) is (load is None)


async def test_a_burst_takes_what_is_left_of_a_node(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        board.set_pairs(costs_of(TRAIN, to_itself=0.0))
        for name, residents in {"busy": [(0, 9)], "one": [], "other": []}.items():
            board.set_host(name, residents)
            board.set_load(name, NodeLoad(32_000, 32_000, 2600))
        await until_true(lambda: len(server.state.placing.loads()) == 3)
        best = []
        for _ in range(4):
            terms = preferred(await admitted(caller))
            best.append(terms[0]["preference"]["matchExpressions"][0]["values"][0])
        assert sorted(best) == ["one", "one", "other", "other"], "there is room for two on each"


async def test_a_pod_that_is_only_tried_counts_on_no_node(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=9, node_2=0)
        await until_true(lambda: len(server.state.placing) == 2)
        before = dict(server.state.placing.residents())
        tried = POD.patched(patch_in(await caller.review(POD, dryRun=True)))
        assert "node-2" in str(preferred(tried))
        assert dict(server.state.placing.residents()) == before
        await admitted(caller)
        assert dict(server.state.placing.residents())["node-2"] == [(1, 1)]


async def test_while_the_controller_is_silent_a_pod_is_sized_without_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0)
        await until_true(lambda: len(server.state.placing) == 2)
        # All that was heard counts as too old, although the feed may be heard while this runs.
        monkeypatch.setattr(node_hint, "MOST_SILENCE_S", -1.0)
        pod = await admitted(caller)
        assert preferred(pod) == []
        assert memory_of(pod) == SIZED
        assert counted(server, "silent") == 1


def test_a_silence_is_longer_than_a_question_waits_for_news() -> None:
    assert feed_client.WAIT_S < MOST_SILENCE_S


async def test_whatever_fails_in_a_hint_the_pod_has_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0)
        await until_true(lambda: len(server.state.placing) == 2)
        monkeypatch.setattr(guarded, "hint_for", fail)
        pod = await admitted(caller)
        assert memory_of(pod) == SIZED
        assert labels.HINT not in pod.built()["metadata"]["annotations"]
        assert counted(server, "error") == 1


async def test_news_that_make_no_sense_cost_only_their_node(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (caller, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0, node_3=0)
        await until_true(lambda: len(server.state.placing) == 3)
        board.set_host("node-2", [(99, 1)])
        board.set_host("n" * 64, [])
        await until_true(lambda: len(server.state.placing) == 2)
        assert "node-2" not in str(preferred(await admitted(caller)))
        assert "node-3" in str(preferred(await admitted(caller)))


async def test_a_replica_takes_as_many_nodes_as_it_compares(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        for number in range(MOST_NODES):
            board.set_host(f"node-{number}", [])
        await until_true(lambda: len(server.state.placing) == MOST_NODES)
        board.set_host("node-0", None)
        board.set_host("node-new", [(1, 1)])
        await until_true(
            lambda: "node-new" in dict(server.state.placing.residents()),
        )
        assert len(server.state.placing) == MOST_NODES


async def until_kept(board: FeedBoard, folder: Path, word: str) -> None:
    """Wait until a replica's copy has a word of its knowledge of nodes.

    News of nodes alone is not written: it is written when something is learned about a task.
    """
    board.publish(knowledge_of(TaskId("team", "later")))
    snapshot = folder / "snapshot.jsonl"
    await until_true(lambda: snapshot.exists() and word in snapshot.read_text())


async def test_a_restarted_replica_hints_by_its_copy_once_the_controller_is_heard(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        tell_nodes(board, TRAIN, node_1=3, node_2=0)
        await until_true(lambda: len(server.state.placing) == 2)
        await until_kept(board, tmp_path, "node-2")
    settings = settings_in(tmp_path, "http://127.0.0.1:1")
    async with running(settings) as server, calling(server.port, tmp_path) as caller:
        assert len(server.state.placing) == 2
        assert preferred(await admitted(caller)) == []
        assert counted(server, "silent") == 1
    async with a_feed(board) as url, running(settings_in(tmp_path, url)) as server:
        await until_true(lambda: server.freshness.from_feed)
        async with calling(server.port, tmp_path) as caller:
            assert "node-2" in str(preferred(await admitted(caller)))


async def test_a_restarted_replica_has_loads_that_have_not_changed_since(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        tell_nodes(board, TRAIN, node_1=3)
        board.set_load("node-1", NodeLoad(8000, 10, -100))
        board.set_load("node-2", NodeLoad(pressed=True))
        await until_true(lambda: len(server.state.placing.loads()) == 2)
        await until_kept(board, tmp_path, "pressed")
        loads = dict(server.state.placing.loads())
    async with a_feed(board) as url, running(settings_in(tmp_path, url)) as server:
        await until_true(lambda: server.freshness.from_feed)
        assert server.state.placing.loads() == loads
        board.set_load("node-1", None)
        await until_true(lambda: len(server.state.placing.loads()) == 1)


async def test_a_load_that_makes_no_sense_costs_only_its_node(tmp_path: Path) -> None:
    async with a_server(tmp_path, KNOWN) as (_, server, board):
        board.set_load("node-1", NodeLoad(8000, 10, 5))
        await until_true(lambda: server.state.placing.has_loads)
        board._put((ChangeKind.LOAD, "node-1"), {"millicores": -5})
        board._put((ChangeKind.LOAD, "x" * 300), {"room_mib": 5})
        board.set_load("node-2", NodeLoad(8000, 10, 5))
        await until_true(lambda: "node-2" in server.state.placing.loads())
        assert [*server.state.placing.loads()] == ["node-2"]


class OlderMessage(msgspec.Struct):
    """A message as an admission without hints reads it."""

    revision: int
    tasks: dict[str, Any]
    removed: OlderRemoved


class OlderRemoved(msgspec.Struct):
    """The same for removed entries."""

    tasks: Sequence[str]


def test_an_older_admission_reads_past_what_it_does_not_know() -> None:
    board = FeedBoard("e1")
    board.publish(KNOWN)
    tell_nodes(board, TRAIN, node_1=3, node_2=0)
    board.set_host("node-2", None)
    board.set_load("node-1", NodeLoad(8000, 10, 5))
    board.set_load("node-2", NodeLoad(8000, 10, 5))
    board.set_load("node-2", None)
    for version in (1, 2):
        text = board.message(1, "e1", version=version)
        older = msgspec.json.decode(text, type=OlderMessage)
        assert older.revision == board.revision
        assert set(older.tasks) <= {str(TRAIN)}
        assert list(decode_message(text).removed.hosts) == ["node-2"]


def test_an_older_controller_tells_nothing_of_nodes() -> None:
    older = (
        b'{"epoch":"e","revision":1,"head":1,"full":true,"defaults":null,"namespaces":{},'
        b'"tasks":{},"removed":{"tasks":[],"namespaces":[]}}'
    )
    assert decode_message(older).hosts == {}
    assert decode_message(older).loads == {}
    assert list(decode_message(older).removed.loads) == []
