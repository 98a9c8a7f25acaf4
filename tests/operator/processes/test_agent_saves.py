"""When the agent saves what it knows."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.processes import agent
from tests.builders.agent.cgroup_trees import UID, RecordedTree, a_report

POD = f"kubepods/burstable/pod{UID}"
TICKS = 6


@pytest.mark.slow
@pytest.mark.parametrize(("waiting", "saves"), [(0, TICKS), (agent.MOST_AT_ONCE + 1, 0)])
def test_an_end_is_saved_at_once_unless_very_much_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int, saves: int
) -> None:
    tree = RecordedTree(tmp_path / "cgroups")
    tree.write(POD)
    settings = AgentSettings(
        controller_url="http://127.0.0.1:9",
        token_file=tmp_path / "token",
        node_name="n1",
        state_dir=tmp_path / "state",
        cgroup_root=tree.root,
        interval_s=0.05,
        save_every_s=3600.0,
    )
    loop = agent._Loop(settings)
    loop.outbox.offer([a_report(pod_uid=f"uid-{n}", final=True) for n in range(waiting)])
    saved, stop, ticks = list[float](), threading.Event(), iter(range(TICKS))

    def ended(_: object) -> bool:
        if next(ticks) == TICKS - 1:
            stop.set()
        return True

    monkeypatch.setattr(loop, "_tick", ended)
    monkeypatch.setattr(loop, "save", lambda: saved.append(time.monotonic()))
    loop.run(stop)
    assert len(saved) == saves
