"""A copy of admission's knowledge on disk, so that a restarted replica serves at once.

One JSON object a line: a header, the entries as the feed would bring them, and a last line with
the SHA-256 of all before it. It is written to a new file, synced and renamed: no half file is seen.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from plimsoll_operator.feed.applying import BadEntry, apply
from plimsoll_operator.feed.client import Position
from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.pods.spec import mapping
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.item_needs import Siblings
from plimsoll_predictor.core.task import TaskId

FORMAT: Final = "plimsoll-admission-snapshot"
VERSION: Final = 1
_TOLD: Final = frozenset(
    {"items", "ordered", "orders_jobs", "smaller", "chunks", "leased", "crowded", "unread"}
)
"""Keys of a header; a header without one comes from a version that did not know it."""


class SnapshotError(Exception):
    """A snapshot that cannot be used or written; says which file and what happens next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was read, beside the state. bad_entries: in words.

    position: where the feed goes on; its beginning if an entry was missing or not understood.
    """

    position: Position
    saved_s: float
    bad_entries: tuple[str, ...]


def take_snapshot(state: AdmissionState, position: Position, saved_s: float) -> Iterator[bytes]:
    """Copy the state's keys, and return its lines, which another thread may encode meanwhile.

    The state's values are immutable. saved_s: Unix seconds, for people; nothing is decided by it.
    """
    copied = replace(
        state,
        tasks=state.tasks.copy(),
        namespaces=state.namespaces.copy(),
        siblings=state.siblings.copy(),
        placing=state.placing.copy(),
        smaller=state.smaller.copy(),
        chunks=state.chunks.copy(),
        leased=state.leased.copy(),
        unread=state.unread.copy(),
    )
    return _lines(copied, position, saved_s)


def write_snapshot(path: Path, lines: Iterable[bytes]) -> None:
    """Write it all or not at all; the one before stays until then. Blocks on the disk.

    Raises:
        SnapshotError: if the disk is full, read-only or gone.
    """
    new = path.with_name(f"{path.name}.new")
    digest = hashlib.sha256()
    try:
        with new.open("wb") as file:
            for line in lines:
                digest.update(line)
                file.write(line)
            file.write(orjson.dumps({"sha256": digest.hexdigest()}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise SnapshotError(
            f"cannot write {path}: {error.strerror}; the one before is kept, and a restart"
            " would begin with it; free or mount space there"
        ) from error


def load_snapshot(path: Path, state: AdmissionState) -> Loaded | None:
    """Fill ``state`` from the file; None if there is none.

    Raises:
        SnapshotError: if it is damaged, foreign or unreadable; the state is then as before. A
            damaged or foreign file is put aside as ``<name>.bad``; an unreadable one stays.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotError(
            f"cannot read {path}: {error.strerror}; starting without it, until the feed is heard"
        ) from error
    try:
        header, entries = _parse(text)
        read = AdmissionState()
        bad = (*_fill(read, entries), *_fill(read, _told_in(header)))
        if "items" in header:
            read.siblings = Siblings.from_dict(header["items"])
        read.unread.update(map(TaskId.parse, header.get("unread", ())))
        # An older version did not write some of these: the feed sends them if asked from its start.
        loads_told = "loads" in mapping(header.get("placing"))
        complete = not bad and loads_told and header.keys() >= _TOLD
        position = Position(header["epoch"], int(header["revision"])) if complete else Position()
        loaded = Loaded(position=position, saved_s=float(header["saved_s"]), bad_entries=bad)
    except (KeyError, TypeError, ValueError) as error:
        aside = _put_aside(path)
        raise SnapshotError(
            f"{path} is no usable snapshot: {error!r:.200}; {aside}starting without it, until the"
            " feed is heard"
        ) from error
    state.replace(read)
    return loaded


def _lines(state: AdmissionState, position: Position, saved_s: float) -> Iterator[bytes]:
    header = {
        "format": FORMAT,
        "version": VERSION,
        "epoch": position.epoch,
        "revision": position.revision,
        "saved_s": saved_s,
        # In the header, because a version that knows no items refuses a file with lines of them.
        "items": state.siblings.to_dict(),
        "placing": {
            "pairs": None if state.placing.costs is None else state.placing.costs.to_document(),
            "hosts": dict(state.placing.residents()),
            "loads": {host: load.to_document() for host, load in state.placing.loads().items()},
        },
        "ordered": sorted(state.ordered),
        "orders_jobs": state.orders_jobs,
        "smaller": {str(task): steps for task, steps in state.smaller.items()},
        "chunks": {str(task): learned.to_document() for task, learned in state.chunks.items()},
        "leased": {str(task): learned.to_document() for task, learned in state.leased.items()},
        "crowded": sorted(state.crowded),
        "unread": sorted(map(str, state.unread)),
    }
    yield orjson.dumps(header) + b"\n"
    defaults = {
        "policy": state.default_policy.to_dict(),
        "nodes": state.nodes.to_document(),
        # An older version reads no snapshot without it.
        "largest_node_bytes": None,
        "paused": state.paused,
        "unhealed": state.unhealed,
    }
    yield _line(ChangeKind.DEFAULTS, "", defaults)
    for name, namespace in state.namespaces.items():
        yield _line(ChangeKind.NAMESPACE, name, namespace.document)
    for knowledge in state.tasks.values():
        yield _line(ChangeKind.TASK, str(knowledge.task), knowledge.to_dict())


def _line(kind: ChangeKind, name: str, data: Mapping[str, Any]) -> bytes:
    return orjson.dumps(_entry(kind, name, data)) + b"\n"


def _parse(text: bytes) -> tuple[Mapping[str, Any], list[Any]]:
    body, _, last = text.rstrip(b"\n").rpartition(b"\n")
    if mapping(orjson.loads(last)).get("sha256") != hashlib.sha256(body + b"\n").hexdigest():
        raise ValueError("its checksum does not match its content")
    header, *entries = (orjson.loads(line) for line in body.split(b"\n"))
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise ValueError(f"it is {header['format']!r} version {header['version']!r}")
    return header, entries


def _fill(state: AdmissionState, entries: Iterable[Any]) -> Iterator[str]:
    for entry in entries:
        try:
            apply(state, ChangeKind(entry["kind"]), entry["name"], entry["data"])
        except BadEntry as error:
            yield str(error)


def _told_in(header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the header's part of the state, as entries like those of the other lines."""
    placing = mapping(header.get("placing"))
    if placing.get("pairs") is not None:
        yield _entry(ChangeKind.PAIRS, "", placing["pairs"])
    for host, residents in mapping(placing.get("hosts")).items():
        yield _entry(ChangeKind.HOST, host, {"residents": residents})
    for host, load in mapping(placing.get("loads")).items():
        yield _entry(ChangeKind.LOAD, host, load)
    if header.get("ordered"):
        data = {"tasks": header["ordered"], "jobs": header.get("orders_jobs") is True}
        yield _entry(ChangeKind.ORDER, "", data)
    for name, steps in mapping(header.get("smaller")).items():
        yield _entry(ChangeKind.SMALLER, name, {"steps": steps})
    yield _entry(ChangeKind.CROWDED, "", {"namespaces": header.get("crowded", [])})
    for kind in (ChangeKind.CHUNKS, ChangeKind.LEASED):
        for name, learned in mapping(header.get(kind.value)).items():
            yield _entry(kind, name, learned)


def _entry(kind: ChangeKind, name: str, data: object) -> dict[str, Any]:
    return {"kind": kind.value, "name": name, "data": data}


def _put_aside(path: Path) -> str:
    try:
        path.replace(path.with_name(f"{path.name}.bad"))
    except OSError:
        return ""  # a read-only disk: it will be met again, and refused again
    return f"moved to {path.name}.bad, "


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
