"""The extender's HTTP: ``POST /prioritize`` for a scheduler, and pages for Prometheus and kubelet.

Every question gets status 200 and a list: a scheduler ignores errors, but it logs each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_operator.extender.scoring import Scorer
from plimsoll_operator.sizing.node_hint import MOST_SILENCE_S
from plimsoll_operator.sizing.node_scores import Graded

PRIORITIZE_PATH: Final = "/prioritize"
MAX_BODY_BYTES: Final = 16 * 2**20
"""A question has some 20 bytes a node with names, 1 to 10 kB a node with whole nodes."""


@dataclass(slots=True)
class Questions:
    """The route that a scheduler asks.

    draining: set it before the end: each connection is then closed after its next answer.
    """

    scorer: Scorer
    monotonic: Callable[[], float]
    draining: bool = False

    def app(self) -> web.Application:
        """The application of the scheduler's port."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.add_routes([web.post(PRIORITIZE_PATH, self._prioritize)])
        return app

    async def _prioritize(self, request: web.Request) -> web.Response:
        text = await self._answer(request)
        response = web.Response(body=text, content_type="application/json")
        if self.draining:
            # The scheduler's next question goes to another replica, not into our end.
            response.force_close()
        return response

    async def _answer(self, request: web.Request) -> bytes:
        began_s = self.monotonic()
        if self.scorer.rests(began_s):
            return self.scorer.without_scores(Graded.RESTING, began_s)
        try:
            async with asyncio.timeout(self.scorer.deadline_s):
                body = await request.read()
        except TimeoutError:
            return self.scorer.without_scores(Graded.LATE, began_s)
        except web.HTTPRequestEntityTooLarge:
            return self.scorer.without_scores(Graded.OVERSIZED, began_s)
        # Questions that came together begin together: the last of many knows how late it is.
        await asyncio.sleep(0)
        return self.scorer.score(body, began_s)


@dataclass(slots=True)
class Pages:
    """The plain port: /metrics for Prometheus, /healthz and /readyz for the kubelet.

    ready_unheard_at_s: from this moment of ``monotonic`` on, it is ready without a feed, and
        answers equal scores: a scheduler waits for a Service without endpoints.
    draining: set when it is about to end.
    """

    scorer: Scorer
    monotonic: Callable[[], float]
    ready_unheard_at_s: float
    draining: bool = False

    def app(self) -> web.Application:
        """The application of the plain port."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/metrics", self._metrics_page),
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
            ]
        )
        return app

    async def _metrics_page(self, _: web.Request) -> web.Response:
        metrics, age_s = self.scorer.metrics, self.scorer.age_s(self.monotonic())
        metrics.feed_age_s.set(float("nan") if age_s is None else age_s)
        text = generate_latest(metrics.registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self.draining:
            return web.Response(status=503, text="ending\n")
        now_s = self.monotonic()
        age_s = self.scorer.age_s(now_s)
        if age_s is None and now_s < self.ready_unheard_at_s:
            return web.Response(status=503, text="no feed was heard\n")
        if age_s is None or age_s > MOST_SILENCE_S:
            return web.Response(text="scores are equal: the controller is silent\n")
        return web.Response(text="ok\n")
