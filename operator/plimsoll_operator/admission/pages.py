"""The plain HTTP port: /metrics for Prometheus, /healthz and /readyz for the kubelet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.sizing.state import AdmissionState


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a first feed. began_s: when the wait began, by ``monotonic``.

    Unready for longer, it would answer nobody; ready, it lets pods through unchanged at once,
    while the API server would wait for a Service without endpoints.
    """

    unheard_s: float
    monotonic: Callable[[], float]
    began_s: float

    @property
    def is_over(self) -> bool:
        """Whether it has been long enough."""
        return self.monotonic() - self.began_s >= self.unheard_s


class Pages:
    """Routes over one server's state.

    trouble: why nothing is served yet, as a sentence; None once it is.
    draining: set when it is about to end.
    """

    def __init__(
        self,
        metrics: AdmissionMetrics,
        freshness: Freshness,
        state: AdmissionState,
        patience: Patience,
    ) -> None:
        self._metrics = metrics
        self._freshness = freshness
        self._state = state
        self._patience = patience
        self.trouble: str | None = "starting"
        self.draining = False

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
        age_s = self._freshness.age_s(self._patience.monotonic())
        self._metrics.feed_age_s.set(float("nan") if age_s is None else age_s)
        self._metrics.tasks.set(len(self._state.tasks))
        text = generate_latest(self._metrics.registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self.draining:
            return web.Response(status=503, text="ending\n")
        if self.trouble is not None:
            return web.Response(status=503, text=f"{self.trouble}\n")
        if self._freshness.heard_s is not None:
            # Stale knowledge stays ready: it answers, unchanged; unready it would not even do that.
            return web.Response(text="ok\n")
        if self._patience.is_over:
            return web.Response(text="no feed was heard yet: pods are admitted unchanged\n")
        return web.Response(status=503, text="no feed was heard and no snapshot was loaded\n")
