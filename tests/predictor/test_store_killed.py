"""kill -9 at any moment: no acknowledged observation is lost, none is doubled."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

from plimsoll_predictor.store import Store
from tests.predictor.store_builders import TRAIN

ROUNDS = 40
PROGRAM = Path(__file__).with_name("recording_until_killed.py")


def test_killed_at_random_moments_every_acknowledged_observation_is_there_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    Store.open(str(path)).close()
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(path), str(ROUNDS), "1"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
    )
    acknowledged = json.loads(done.stdout)
    rounds_heard = {uid.split("-")[0] for uid in acknowledged}
    assert len(rounds_heard) == ROUNDS, "each round acknowledged something before it was killed"

    connection = sqlite3.connect(path)
    times_kept = Counter(
        uid for (uid,) in connection.execute("SELECT attempt_uid FROM observations")
    )
    intact = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    assert intact == ("ok",)
    assert [uid for uid in acknowledged if times_kept[uid] != 1] == []

    store = Store.open(str(path))
    kept = store.observations(TRAIN, limit=10**6)
    assert store.record(kept).new == frozenset(), "recording them again adds none"
    assert store.observations(TRAIN, limit=10**6) == kept
    store.close()
