"""kill -9 at any moment: no acknowledged observation is lost or doubled."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from deploy.local.layout import CHECKOUT

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.store import Store
from tests.builders.stores import TRAIN

PROGRAM = CHECKOUT / "tests" / "rigs" / "processes" / "recording_until_killed.py"


def recording(url: str, rounds: int, *names: str) -> list[list[str]]:
    """Run one program for each name at once; return the uids that each acknowledged."""
    started = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), url, str(rounds), "1", name],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name in names
    ]
    said = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(names)
    return [json.loads(each) for each in said]


@pytest.mark.slow
def test_killed_at_random_moments_every_acknowledged_observation_is_there_once(
    store_url: str, rounds: int
) -> None:
    Store.open(store_url).close()
    [acknowledged] = recording(store_url, rounds, "one")
    rounds_heard = {uid.split("-")[1] for uid in acknowledged}
    assert len(rounds_heard) == rounds, "each round acknowledged something before it was killed"

    store = Store.open(store_url)
    kept = store.observations.of_task(TRAIN, limit=10**6)
    times_kept = Counter(each.attempt_uid for each in kept)
    assert [uid for uid in acknowledged if times_kept[uid] != 1] == []
    assert_each_is_learned_once(store, kept)
    assert store.observations.record(kept).new == frozenset(), "recording them again adds none"
    assert store.observations.of_task(TRAIN, limit=10**6) == kept
    store.close()


@pytest.mark.slow
def test_a_file_that_was_written_to_until_the_kill_is_intact(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store.open(str(path)).close()
    recording(str(path), 5, "one")
    connection = sqlite3.connect(path)
    intact = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    assert intact == ("ok",)


@pytest.mark.slow
def test_two_controllers_that_record_the_same_at_once_count_and_teach_it_once(
    store_url: str, rounds: int
) -> None:
    """As when a leader does not know yet that it no longer leads; both are also killed."""
    Store.open(store_url).close()
    one, two = recording(store_url, rounds // 2, "same", "same")
    store = Store.open(store_url)
    kept = store.observations.of_task(TRAIN, limit=10**6)
    assert {*one, *two} <= {each.attempt_uid for each in kept}
    assert_each_is_learned_once(store, kept)
    store.close()


def assert_each_is_learned_once(store: Store, kept: list[Observation]) -> None:
    measured = sorted(each.run for each in kept if each.peak_bytes)
    lessons = store.experts.lessons(0, limit=10**6)
    assert sorted(lesson.run for lesson in lessons) == measured
    serials = [lesson.serial for lesson in lessons]
    assert serials == sorted(set(serials))
    summary = store.totals.of(TRAIN)
    assert (summary.observations, summary.runs_known) == (len(kept), len(kept))
