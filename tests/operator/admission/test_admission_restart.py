"""A replica that starts again: with a snapshot, without one, with the controller down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from plimsoll_operator.admission import snapshot_keeper
from plimsoll_operator.admission.snapshot import load_snapshot, write_snapshot
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import Position
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.processes.admission import running
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.task import TaskId
from tests.builders.pods import a_pod, decision_of, memory_of
from tests.rigs.servers.admission_servers import (
    TRAIN,
    a_feed,
    a_server,
    calling,
    knowledge_of,
    patch_in,
    settings_in,
    until_true,
)

POD = a_pod().asking("4Gi").limited("4Gi")
SMALL = a_pod().asking("64Mi").limited("64Mi")
JOIN = TaskId("shop", "join")
NOBODY = "http://127.0.0.1:1"


async def a_first_life(folder: Path) -> None:
    async with a_server(folder, knowledge_of()):
        await until_true((folder / "snapshot.jsonl").exists)


async def test_a_restarted_replica_serves_at_once_with_the_controller_down(tmp_path: Path) -> None:
    """It lowers nothing, because nobody sees kills now; it raises pods that ask for too little."""
    await a_first_life(tmp_path)
    async with (
        running(settings_in(tmp_path, NOBODY)) as server,
        calling(server.port, tmp_path) as caller,
    ):
        after = POD.patched(patch_in(await caller.review(POD)))
        assert memory_of(after) == ("4Gi", "4Gi")
        assert "was not heard since" in decision_of(after)["why"]
        small = SMALL.patched(patch_in(await caller.review(SMALL)))
        assert memory_of(small) == ("1127Mi", "1127Mi")
        async with caller.session.get(f"http://127.0.0.1:{server.metrics_port}/readyz") as ready:
            assert ready.status == 200
            assert "sizes are raised, not lowered" in await ready.text()


async def test_a_restarted_replica_lowers_as_soon_as_the_controller_is_heard(
    tmp_path: Path,
) -> None:
    """The feed has no news, so a request that waits for news gets its answer much later."""
    board = FeedBoard("e1")
    board.publish(knowledge_of())
    async with a_feed(board) as url:
        async with running(settings_in(tmp_path, url)):
            await until_true((tmp_path / "snapshot.jsonl").exists)
        async with running(settings_in(tmp_path, url)) as server:
            await until_true(lambda: server.freshness.from_feed)


async def test_a_replica_that_knows_nothing_changes_no_pod_and_is_not_ready(tmp_path: Path) -> None:
    async with (
        running(settings_in(tmp_path, NOBODY)) as server,
        calling(server.port, tmp_path) as caller,
    ):
        assert await caller.review(POD) == {"uid": "review-1", "allowed": True}
        async with caller.session.get(f"http://127.0.0.1:{server.metrics_port}/readyz") as ready:
            assert ready.status == 503


async def test_a_damaged_snapshot_is_told_put_aside_and_done_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await a_first_life(tmp_path)
    path = tmp_path / "snapshot.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    async with (
        running(settings_in(tmp_path, NOBODY)) as server,
        calling(server.port, tmp_path) as caller,
    ):
        assert await caller.review(POD) == {"uid": "review-1", "allowed": True}
        assert server.metrics.registry.get_sample_value("plimsoll_admission_snapshot_errors_total")
    assert "snapshot-refused" in capsys.readouterr().out
    assert (tmp_path / "snapshot.jsonl.bad").exists()


async def test_the_feed_goes_on_where_the_snapshot_ended(tmp_path: Path) -> None:
    """The second life gets only one more task from the feed, and still knows the first."""
    board = FeedBoard("e1")
    board.publish(knowledge_of())
    async with a_feed(board) as url:
        async with running(settings_in(tmp_path, url)):
            await until_true((tmp_path / "snapshot.jsonl").exists)
        board.publish(knowledge_of(JOIN))
        state = AdmissionState()
        loaded = load_snapshot(tmp_path / "snapshot.jsonl", state)
        assert loaded is not None
        assert loaded.position == Position("e1", 1)
        told = decode_message(board.message(loaded.position.revision, loaded.position.epoch))
        assert set(told.tasks) == {str(JOIN)}
        async with running(settings_in(tmp_path, url)) as server:
            await until_true(lambda: set(server.state.tasks) == {TRAIN, JOIN})


@pytest.mark.parametrize(
    ("now_s", "event"), [(1e10, "snapshot-is-old"), (0.0, "snapshot-is-from-the-future")]
)
async def test_a_wall_clock_that_jumped_only_warns(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    now_s: float,
    event: str,
) -> None:
    await a_first_life(tmp_path)
    monkeypatch.setattr("plimsoll_operator.processes.admission.time.time", lambda: now_s)
    async with (
        running(settings_in(tmp_path, NOBODY)) as server,
        calling(server.port, tmp_path) as caller,
    ):
        assert patch_in(await caller.review(POD)) != []
    assert f"[warning  ] {event}" in capsys.readouterr().out


async def test_a_snapshot_that_cannot_be_written_does_not_stop_serving(tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "snapshot.jsonl"
    async with a_server(tmp_path, knowledge_of(), snapshot_file=gone) as (caller, server, _):
        await until_true(
            lambda: bool(
                server.metrics.registry.get_sample_value("plimsoll_admission_snapshot_errors_total")
            )
        )
        assert patch_in(await caller.review(POD)) != []


async def test_a_write_that_is_broken_off_does_not_spoil_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write's thread still runs when the process ends and writes again, into the same file."""
    begun, go_on, written = threading.Event(), threading.Event(), []

    def slow_at_first(path: Path, lines: Iterable[bytes]) -> None:
        if not begun.is_set():
            begun.set()
            go_on.wait(10)
        write_snapshot(path, lines)
        written.append(path)

    monkeypatch.setattr(snapshot_keeper, "write_snapshot", slow_at_first)
    async with a_server(tmp_path, knowledge_of()) as (_, server, board):
        await until_true(begun.is_set)
        board.publish(knowledge_of(JOIN))
        await until_true(lambda: len(server.state.tasks) == 2)
        asyncio.get_running_loop().call_later(0.3, go_on.set)
    await until_true(lambda: len(written) == 2)
    state = AdmissionState()
    assert load_snapshot(tmp_path / "snapshot.jsonl", state) is not None
    assert set(state.tasks) == {TRAIN, JOIN}
