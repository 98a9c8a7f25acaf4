"""What the answer to agents' reports says of pods that a controller rescues."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from plimsoll_operator.attempts.peaks import PEAKS_PATH, PeakReport
from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.serving.peak_routes import PodFacts, peak_routes
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import an_alarm
from tests.builders.controller.ledgers import a_final
from tests.builders.controller.rescues import a_scene, running


async def told(controller: Controller, report: PeakReport) -> dict[str, int]:
    """The known needs in the answer to one report."""

    async def persist(_: Sequence[PeakReport]) -> None:
        raise AssertionError("nothing is final")

    app = web.Application()
    app.add_routes(peak_routes(controller.peaks, persist, "t", PodFacts(controller.known_need)))
    body = json.dumps({"node": "node-1", "reports": [to_document(report)]})
    headers = {"Authorization": "Bearer t"}
    async with TestServer(app) as server, ClientSession() as session:
        url = server.make_url(PEAKS_PATH)
        async with session.post(url, data=body, headers=headers) as answer:
            known: dict[str, int] = json.loads(await answer.text())["known_bytes"]
            return known


async def test_from_its_raise_on_each_report_of_a_pod_is_wanted(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        controller, pod = scene.inside.controller, running()
        controller.rescues = scene.rescues
        controller.book.restore(replace(scene.inside.known, largest_bytes=256 * MIB))
        report = replace(a_final("train-1", 100 * MIB), final=False)
        await scene.inside.see(pod)
        scene.sees(pod)
        assert await told(controller, report) == {"uid-train-1": 256 * MIB}
        await scene.alarmed(an_alarm())
        assert scene.rescues.raised("uid-train-1")
        # Left out, it would be a pod of which the agent still holds 256 MiB.
        assert await told(controller, report) == {"uid-train-1": 0}
