"""The annotation of a rescued pod: written again if the API server did not take it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.rescue.expected_raises import (
    LONGEST_NOTE_PAUSE_S,
    MOST_NOTES,
    NOTE_AGAIN_S,
)
from plimsoll_operator.kube.errors import Refused, Unreachable
from plimsoll_operator.names.labels import RESCUED
from tests.builders.agent.alarms import an_alarm
from tests.builders.controller.rescues import Scene, a_scene, running
from tests.builders.pods import APod


def written_on(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.server.pods["train-1"]["metadata"]["annotations"]
    return found


async def looked(scene: Scene, seconds: float) -> None:
    """Let time pass, and let the controller see its pod and look."""
    scene.now_s += seconds
    scene.sees(APod(scene.server.pods["train-1"]))
    scene.rescues.look()
    await scene.idle()


@pytest.mark.slow
async def test_a_note_that_fails_is_written_again_until_the_pod_has_it(tmp_path: Path) -> None:
    """Without it, the next controller would take the raised size for what its author wrote."""
    async with a_scene(tmp_path) as scene:
        scene.server.refuses_notes = [Unreachable("429"), Unreachable("503")]
        scene.sees(running())
        await scene.alarmed(an_alarm())
        assert RESCUED not in written_on(scene)
        for _ in range(3):
            await looked(scene, NOTE_AGAIN_S)
        assert json.loads(written_on(scene)[RESCUED])["raises"] == 1
        for _ in range(3):
            await looked(scene, LONGEST_NOTE_PAUSE_S)
        assert scene.server.notes == 3


async def test_a_note_that_is_refused_is_not_written_for_ever(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server.refuses_notes = [Refused("no rights")] * 100
        scene.sees(running())
        await scene.alarmed(an_alarm())
        for _ in range(2 * MOST_NOTES):
            await looked(scene, LONGEST_NOTE_PAUSE_S)
        assert scene.server.notes == 1 + MOST_NOTES
