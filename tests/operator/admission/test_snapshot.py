"""The copy on disk that a restarted replica begins with."""

from __future__ import annotations

import errno
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll_operator.admission.snapshot import (
    SnapshotError,
    load_snapshot,
    take_snapshot,
    write_snapshot,
)
from plimsoll_operator.feed.applying import BadEntry, apply
from plimsoll_operator.feed.client import Position
from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import Costs
from tests.builders.nodes import a_node, nodes_of
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

JOIN = TaskId("shop", "join")
NODES = nodes_of(a_node("16Gi"))


def a_state() -> AdmissionState:
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), nodes=NODES)
    lifts = {"job:1": Lift(allocation_bytes=2 * GIB, attempt=2, after_bytes=GIB)}
    for known in (replace(knowledge_of(TRAIN), lifts=lifts), knowledge_of(JOIN)):
        state.tasks[known.task] = known
    limit_range = {"spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}}
    policy = Policy(min_bytes=5).to_dict()
    namespace = {"policy": policy, "limit_ranges": [limit_range], "quotas": []}
    apply(state, ChangeKind.NAMESPACE, "shop", namespace)
    apply(state, ChangeKind.SMALLER, "shop/spark.sales.executor", {"steps": 2})
    apply(state, ChangeKind.CROWDED, "", {"namespaces": ["mall", "fair"]})
    with pytest.raises(BadEntry):
        apply(state, ChangeKind.TASK, "shop/other", {"task": 3})
    state.chunks[TRAIN] = Learned(
        Costs(0.5, 1.0, 0.1, 0.01, 0.02, 40.0), None, wait_s=2.0, largest=40
    )
    state.leased[TRAIN] = Learned(
        Costs(0.2, 0.0, 0.1, 0.01, 0.02, 60.0), None, wait_s=0.05, largest=60
    )
    state.siblings.note("r1", "shop/s1", "align", 5e8)
    state.siblings.note("r1", "shop/s1", "sort", 3e8)
    return state


def a_version_before_items(text: bytes) -> bytes:
    """The same state as that version wrote it: its header says nothing about items."""
    header, rest = text.split(b"\n", 1)
    data = orjson.loads(header)
    del data["items"]
    return resigned(orjson.dumps(data) + b"\n" + rest)


def written(path: Path) -> Path:
    write_snapshot(path, take_snapshot(a_state(), Position("e1", 7), 1_700_000_000.0))
    return path


def test_what_was_written_is_loaded(tmp_path: Path) -> None:
    state = AdmissionState()
    loaded = load_snapshot(written(tmp_path / "s"), state)
    assert loaded is not None
    assert loaded.position == Position("e1", 7)
    assert loaded.saved_s == 1_700_000_000.0
    assert loaded.bad_entries == ()
    expected = a_state()
    assert state.tasks == expected.tasks
    assert state.default_policy == expected.default_policy
    assert state.nodes == NODES
    assert state.smaller == {TaskId("shop", "spark.sales.executor"): 2}
    assert state.crowded == {"mall", "fair"}
    assert state.unread == {TaskId("shop", "other")}
    assert state.chunks == expected.chunks != {}
    assert state.leased == expected.leased != {}
    assert state.namespace("shop").bounds.most == GIB
    assert state.namespace("shop").policy == Policy(min_bytes=5)


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert load_snapshot(tmp_path / "s", AdmissionState()) is None


def damaged_cases() -> list[object]:
    return [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda text: text[: len(text) // 2], id="cut off"),
        pytest.param(lambda text: text.replace(b"1073741824", b"1073741825", 1), id="a digit"),
        pytest.param(lambda text: b"\0" * len(text), id="zeros"),
        pytest.param(lambda _: b"<html>\n", id="foreign"),
        pytest.param(lambda _: b"[" * 10_000, id="deep"),
        pytest.param(lambda _: b"{}\n{}\n", id="no checksum"),
        pytest.param(lambda text: resigned(text, version=99), id="a newer version"),
        pytest.param(lambda text: resigned(text, format="other"), id="another format"),
        pytest.param(lambda text: resigned(text, revision="x"), id="a revision that is none"),
    ]


def resigned(text: bytes, **header: object) -> bytes:
    """A changed header with a matching checksum: the file is whole, but not ours."""
    first, *rest = text.rstrip(b"\n").split(b"\n")[:-1]
    body = b"\n".join([orjson.dumps({**orjson.loads(first), **header}), *rest]) + b"\n"
    return body + orjson.dumps({"sha256": hashlib.sha256(body).hexdigest()}) + b"\n"


@pytest.mark.parametrize("damage", damaged_cases())
def test_a_damaged_or_foreign_file_is_put_aside_with_words(tmp_path: Path, damage: object) -> None:
    path = written(tmp_path / "s")
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    state = AdmissionState()
    with pytest.raises(SnapshotError, match=r"no usable snapshot.*moved to s\.bad"):
        load_snapshot(path, state)
    assert state == AdmissionState()
    assert not path.exists()
    assert (tmp_path / "s.bad").exists()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_any_changed_byte_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    path = written(tmp_path / "s")
    text = bytearray(path.read_bytes().rstrip(b"\n"))
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(text)
    with pytest.raises(SnapshotError):
        load_snapshot(path, AdmissionState())


def test_items_come_back_and_are_no_line_that_an_older_version_would_refuse(tmp_path: Path) -> None:
    path, state = written(tmp_path / "s"), AdmissionState()
    load_snapshot(path, state)
    assert len(state.siblings) == 3
    assert state.siblings == a_state().siblings
    kinds = {json.loads(line).get("kind") for line in path.read_bytes().split(b"\n") if line}
    assert kinds == {None, "defaults", "namespaces", "tasks"}


def test_an_older_versions_file_serves_and_the_feed_is_asked_for_the_items(tmp_path: Path) -> None:
    path, state = written(tmp_path / "s"), AdmissionState()
    path.write_bytes(a_version_before_items(path.read_bytes()))
    loaded = load_snapshot(path, state)
    assert loaded is not None
    assert loaded.position == Position()
    assert loaded.bad_entries == ()
    assert state.tasks == a_state().tasks
    assert len(state.siblings) == 0


def test_an_entry_from_another_version_is_left_out_and_asked_for_again(tmp_path: Path) -> None:
    path = written(tmp_path / "s")
    text = path.read_bytes()
    entry = next(line for line in text.split(b"\n") if b"shop/join" in line)
    strange = json.loads(entry)
    strange["data"]["champion"] = 7
    path.write_bytes(resigned(text.replace(entry, orjson.dumps(strange))))
    state = AdmissionState()
    loaded = load_snapshot(path, state)
    assert loaded is not None
    assert set(state.tasks) == {TRAIN}
    assert loaded.position == Position()
    assert "shop/join" in loaded.bad_entries[0]


def test_a_full_disk_keeps_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "s")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SnapshotError, match="No space left"):
        write_snapshot(path, take_snapshot(AdmissionState(), Position("e2", 1), 0.0))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cannot write"):
        written(tmp_path / "gone" / "s")


def test_a_path_that_is_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cannot read"):
        load_snapshot(tmp_path, AdmissionState())
