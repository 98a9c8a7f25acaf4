"""The backup of a store on SQLite, as the page has it: run here, without a cluster."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

from plimsoll_predictor.store import Store
from tests.builders.stores import TRAIN, an_attempt, open_store
from tests.docs.pages import Page

VOLUME = "/var/lib/plimsoll"
KUBECTL = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
"""What runs here is what ``kubectl exec`` would run in the pod."""


def documented() -> str:
    [block] = [
        each.text for each in Page("docs/operations.md").blocks("sh") if "VACUUM" in each.text
    ]
    return block


def back_up(folder: Path, volume: Path, block: str) -> subprocess.CompletedProcess[str]:
    program = folder / "programs" / "kubectl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(KUBECTL)
    program.chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.replace(VOLUME, str(volume))],
        cwd=folder,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def a_volume(folder: Path) -> tuple[Path, Store]:
    volume = folder / "volume"
    volume.mkdir()
    store = Store.open(str(volume / "plimsoll.db"))
    store.observations.record([an_attempt("u").built])
    return volume, store


def test_the_backup_is_a_whole_store_and_leaves_nothing_on_the_volume(tmp_path: Path) -> None:
    """Also beside a copy that an older page, or a backup that was killed, has left there."""
    volume, store = a_volume(tmp_path)
    (volume / "backup.db").write_text("left behind")
    before = {each.name for each in volume.iterdir()}
    for _ in range(2):
        done = back_up(tmp_path, volume, documented())
        assert done.returncode == 0, done.stderr
        assert {each.name for each in volume.iterdir()} == before
    store.close()
    (tmp_path / "plimsoll-backup.db").rename(tmp_path / "store.db")
    restored = open_store(tmp_path)
    assert restored.observations.of_task(TRAIN) == [an_attempt("u").built]
    restored.close()


def test_a_backup_that_does_not_fit_is_not_begun_and_says_why(tmp_path: Path) -> None:
    volume, store = a_volume(tmp_path)
    before = {each.name for each in volume.iterdir()}
    done = back_up(tmp_path, volume, documented().replace("1.2 *", "1e15 *"))
    assert done.returncode == 1
    assert "no room for a copy of the store: enlarge the claim" in done.stderr
    assert {each.name for each in volume.iterdir()} == before
    store.close()
    with sqlite3.connect(volume / "plimsoll.db") as kept:
        assert kept.execute("SELECT count(*) FROM observations").fetchone() == (1,)
    kept.close()
