"""The plain HTTP port: /metrics for Prometheus, /healthz and /readyz for the kubelet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.sizing.state import AdmissionState


@dataclass(slots=True)
class Pages:
    """Routes over one server's state. monotonic: seconds on a clock that cannot jump.

    ready_unheard_at_s: from this moment of ``monotonic`` on, it is ready without a feed. Unready,
        it would answer nobody; ready, it lets pods through unchanged at once, while the API server
        would wait for a Service without endpoints.
    trouble: a sentence that says why nothing is served yet; None once it is.
    draining: set when it is about to end.
    """

    metrics: AdmissionMetrics
    freshness: Freshness
    state: AdmissionState
    monotonic: Callable[[], float]
    ready_unheard_at_s: float
    trouble: str | None = "starting"
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
        age_s = self.freshness.age_s(self.monotonic())
        self.metrics.feed_age_s.set(float("nan") if age_s is None else age_s)
        self.metrics.tasks.set(len(self.state.tasks))
        self.metrics.lowering.set(float(self._unhealed() is None))
        text = generate_latest(self.metrics.registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _unhealed(self) -> str | None:
        return self.freshness.unhealed(self.monotonic()) or self.state.unhealed

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self.draining:
            return web.Response(status=503, text="ending\n")
        if self.trouble is not None:
            return web.Response(status=503, text=f"{self.trouble}\n")
        if self.freshness.heard_s is not None:
            # With stale knowledge it stays ready: it lets pods through unchanged at once.
            unhealed = self._unhealed()
            words = "ok" if unhealed is None else f"sizes are raised, not lowered: {unhealed}"
            return web.Response(text=f"{words}\n")
        if self.monotonic() >= self.ready_unheard_at_s:
            return web.Response(text="no feed was heard yet: pods are admitted unchanged\n")
        return web.Response(status=503, text="no feed was heard and no snapshot was loaded\n")
