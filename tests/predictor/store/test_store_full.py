"""A disk that is really full: nothing acknowledged is lost, and the queue is kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from plimsoll_predictor.store import Store, StoreError, Writer
from tests.builders.stores import TRAIN, an_attempt, open_store

FILLER = "x" * 2000


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A store with room for a few hundred observations, and how to give it more."""

    store: Store
    grow: Callable[[], None]


def mount(*options: str) -> bool:
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 2 MiB where root may mount one, else a database of as many pages."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder))
    store = open_store(folder)
    if mounted:
        yield SmallDisk(store, lambda: remount(folder))
    else:
        yield SmallDisk(store, limit_pages(store))
    store.close()
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def remount(folder: Path) -> None:
    assert mount("-o", "remount,size=64m", str(folder))


def limit_pages(store: Store) -> Callable[[], None]:
    pages = {"most": 256}

    def limit(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages['most']}")

    event.listen(store.database.engine, "begin", limit)
    return lambda: pages.update(most=2**20)


def fill(store: Store) -> list[str]:
    """Record until there is no more room; returns what was acknowledged."""
    acknowledged: list[str] = []
    try:
        for number in range(10_000):
            recorded = store.observations.record(
                [an_attempt(f"u{number}").knowing(text=FILLER).built]
            )
            acknowledged += recorded.new
    except StoreError as error:
        assert "the disk is full; free some space" in str(error)  # noqa: PT017  # it is full at an unknown record
        return acknowledged
    raise AssertionError("the small disk was never full")


@pytest.mark.slow
def test_what_was_acknowledged_before_the_disk_was_full_stays(small_disk: SmallDisk) -> None:
    acknowledged = fill(small_disk.store)
    assert len(acknowledged) > 20
    kept = [each.attempt_uid for each in small_disk.store.observations.of_task(TRAIN)]
    assert sorted(kept) == sorted(acknowledged)


async def until_in_trouble(writer: Writer) -> str:
    while writer.trouble is None:
        await asyncio.sleep(0.01)
    return writer.trouble


@pytest.mark.slow
async def test_the_writer_keeps_what_is_queued_until_there_is_room(small_disk: SmallDisk) -> None:
    full_at = len(fill(small_disk.store))
    writer = Writer(small_disk.store)
    waiting = [
        asyncio.create_task(writer.record(an_attempt(f"late{number}").knowing(text=FILLER).built))
        for number in range(100)
    ]
    assert "the disk is full" in await until_in_trouble(writer)
    assert not any(task.done() for task in waiting)
    small_disk.grow()
    assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 100
    assert writer.trouble is None
    assert len(small_disk.store.observations.of_task(TRAIN)) == full_at + 100
    await writer.close()


@pytest.mark.slow
def test_a_new_store_on_a_full_disk_is_refused_in_words(small_disk: SmallDisk) -> None:
    fill(small_disk.store)
    folder = Path(small_disk.store.where.removeprefix("sqlite:///")).parent / "more"
    if os.path.ismount(folder.parent):
        folder.mkdir()
        with pytest.raises(StoreError, match="the disk is full"):
            open_store(folder)
    else:
        open_again = open_store(folder.parent)
        assert open_again.observations.of_task(TRAIN), "a full store still opens and reads"
        open_again.close()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder with a store and one without, both on a read-only file system."""
    folder, seen = tmp_path / "volume", tmp_path / "read-only"
    for each in (folder / "used", folder / "new", seen):
        each.mkdir(parents=True)
    store = open_store(folder / "used")
    store.observations.record([an_attempt("before").built])
    store.close()
    assert mount("--bind", str(folder), str(seen)), "binding a folder needs root"
    assert mount("-o", "remount,ro,bind", str(seen))
    yield seen
    subprocess.run(["umount", str(seen)], check=True)


@pytest.mark.parametrize("folder", ["used", "new"])
def test_a_volume_that_may_only_be_read_is_named(read_only: Path, folder: str) -> None:
    with pytest.raises(StoreError, match=r"permission|may be written") as raised:
        open_store(read_only / folder)
    assert str(read_only / folder) in str(raised.value)
