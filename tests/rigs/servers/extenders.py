"""A real extender on loopback with a real feed, and questions as a kube-scheduler sends them."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from plimsoll_operator.extender.settings import ExtenderSettings
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.processes.extender import RunningExtender, running_extender
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.placing.scoring import MOST_SCORE
from tests.builders.pods import APod
from tests.rigs.servers.admission_servers import TOKEN, a_feed, until_true

PATIENT_S = 30.0
"""The machine may be busy: most tests do not ask whether answers come in time."""


def by_names(pod: APod, *names: str) -> dict[str, Any]:
    """``ExtenderArgs`` of a scheduler whose extender is ``nodeCacheCapable``."""
    return {"Pod": pod.built(), "Nodes": None, "NodeNames": [*names]}


def by_nodes(pod: APod, **hosts: str) -> dict[str, Any]:
    """``ExtenderArgs`` with whole nodes: a name, and the host name in its label."""
    return {
        "Pod": pod.built(),
        "Nodes": {
            "metadata": {"resourceVersion": "7"},
            "items": [
                {
                    "metadata": {"name": name, "labels": {"kubernetes.io/hostname": host}},
                    "spec": {"podCIDR": "10.88.0.0/24"},
                    "status": {"images": [{"names": ["x" * 60], "sizeBytes": 5}] * 20},
                }
                for name, host in hosts.items()
            ],
        },
        "NodeNames": None,
    }


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Asks as kube-scheduler's HTTPExtender does: by a POST; any status except 200 is an error."""

    session: aiohttp.ClientSession
    url: str

    async def prioritize(self, args: dict[str, Any] | bytes) -> list[dict[str, Any]]:
        """The ``HostPriorityList`` of an answer."""
        body = args if isinstance(args, bytes) else json.dumps(args).encode()
        headers = {"Content-Type": "application/json"}
        url = f"{self.url}/prioritize"
        async with self.session.post(url, data=io.BytesIO(body), headers=headers) as response:
            assert response.status == 200, await response.text()
            found: list[dict[str, Any]] = await response.json()
            return found

    async def scores(self, pod: APod, *names: str) -> Sequence[int]:
        """The scores of nodes, by name, in the order of the question; as a scheduler adds them."""
        found = await self.prioritize(by_names(pod, *names))
        assert all(each.keys() == {"Host", "Score"} for each in found)
        scores = {each["Host"]: each["Score"] for each in found}
        assert len(scores) == len(found)
        assert scores.keys() <= {*names}
        assert all(0 < score <= MOST_SCORE for score in scores.values())
        return [scores.get(name, 0) for name in names]


def extender_settings(folder: Path, feed_url: str, **changes: Any) -> ExtenderSettings:
    """Settings of an extender in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    token_file = folder / "token"
    token_file.write_text(f"{TOKEN}\n")
    values: dict[str, Any] = {
        "listen_address": "127.0.0.1",
        "listen_port": 0,
        "metrics_listen_port": 0,
        "feed_url": feed_url,
        "feed_token_file": token_file,
        "drain_s": 0.0,
    }
    return ExtenderSettings(**{**values, **changes})


@asynccontextmanager
async def an_extender(
    folder: Path, *knowledge: Knowledge, **changes: Any
) -> AsyncIterator[tuple[Scheduler, RunningExtender, FeedBoard]]:
    """An extender that knows some tasks from its feed, and a scheduler that asks it."""
    board = FeedBoard("epoch-1")
    board.set_defaults(Policy(mode=Mode.ENFORCE))
    for known in knowledge:
        board.publish(known)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(a_feed(board))
        settings = extender_settings(folder, url, **changes)
        extender = await stack.enter_async_context(running_extender(settings))
        scorer = extender.scorer
        scorer.deadline_s = PATIENT_S
        await until_true(
            lambda: len(scorer.state.tasks) == len(knowledge) and scorer.heard_s is not None
        )
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield Scheduler(session, f"http://127.0.0.1:{extender.port}"), extender, board
