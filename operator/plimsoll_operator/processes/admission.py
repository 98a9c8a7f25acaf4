"""The admission process: assembles its parts, starts them, and ends without losing a request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
import uvloop

from plimsoll_operator.admission.answering import Answerer
from plimsoll_operator.admission.certificates import POLL_S, Certificate, CertificateError
from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.letting_go.api_calls import ApiAddress, ApiCalls, cluster_url
from plimsoll_operator.admission.letting_go.gate_watch import GateWatch
from plimsoll_operator.admission.letting_go.kinds import JOBS, PODS
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.admission.pages import Pages
from plimsoll_operator.admission.server import SizingServer
from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.admission.snapshot_keeper import SnapshotKeeper
from plimsoll_operator.feed.client import UNANSWERED, FeedClient
from plimsoll_operator.metrics.quiet_log import QuietLog
from plimsoll_operator.processes.ending import (
    Terminated,
    beside,
    unless_terminated,
    when_terminated,
)
from plimsoll_operator.processes.serving import again_and_again, feed_source, listening
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.leased_job import Leasing

log = structlog.get_logger()

PAGES_GRACE_S: Final = 60.0
"""A scrape that has begun may take that long at the end."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens."""

    port: int
    metrics_port: int
    state: AdmissionState
    freshness: Freshness
    metrics: AdmissionMetrics
    pages: Pages
    server: SizingServer

    def drain(self) -> None:
        """Go on answering, but send new requests to others: readiness and connections end."""
        self.pages.draining = True
        self.server.draining = True


def serve(settings: AdmissionSettings) -> None:
    """Serve until SIGTERM or SIGINT, or raise OSError if a port is taken.

    Without a usable certificate it waits for one, and says so: its maker may be late.
    """
    with (
        contextlib.suppress(Terminated),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve_until_told(settings))


async def _serve_until_told(settings: AdmissionSettings) -> None:
    ending = when_terminated()
    async with AsyncExitStack() as stack:
        server = await unless_terminated(ending, stack.enter_async_context(running(settings)))
        # All that is loaded by now stays. Collections need not scan it again: that takes tens of
        # milliseconds, and pods would wait.
        gc.collect()
        gc.freeze()
        log.info("admission-serves", port=server.port, metrics_port=server.metrics_port)
        await ending.wait()
        server.drain()
        log.info("admission-drains", seconds=settings.drain_s)
        await asyncio.sleep(settings.drain_s)
    log.info("admission-ended")


@asynccontextmanager
async def running(settings: AdmissionSettings) -> AsyncIterator[Running]:
    """Have a server listen while the context is open."""
    metrics = AdmissionMetrics()
    state = AdmissionState()
    freshness = Freshness(settings.max_feed_age_s, max_silence_s=settings.max_silence_s)
    quiet = QuietLog(time.monotonic)
    excluded = settings.excluded_namespaces
    watches = _gate_watches(settings, metrics)
    client = FeedClient(
        source=feed_source(settings.feed_url, settings.feed_token_file, settings.feed_ca_file),
        state=state,
        heard=lambda: freshness.hear(time.monotonic()),
        failed=lambda reason: _feed_failed(reason, freshness, metrics),
        jitter=random.Random(),
        asked=lambda wait_s: freshness.ask(time.monotonic() + wait_s),
    )
    answerer = Answerer(
        state,
        freshness,
        metrics,
        quiet,
        time.monotonic,
        excluded,
        watched={resource: watch.watched for resource, watch in watches.items()},
        leases=lambda run: _leasing(settings.leases_url, client.token, run),
    )
    snapshot = SnapshotKeeper(settings.snapshot_file, state, client, metrics)
    if snapshot.load(time.time()):
        freshness.load(time.monotonic())
    ready_unheard_at_s = time.monotonic() + settings.unheard_s
    pages = Pages(metrics, freshness, state, time.monotonic, ready_unheard_at_s)
    # Contexts end in the opposite order: open requests end first, while all else still works.
    async with AsyncExitStack() as stack:
        metrics_port = await stack.enter_async_context(
            listening(
                pages.app(),
                settings.listen_address,
                settings.metrics_listen_port,
                grace_s=PAGES_GRACE_S,
            )
        )
        stack.push_async_callback(snapshot.save_now)
        for watch in watches.values():
            stack.push_async_callback(watch.calls.close)
        works: dict[str, Callable[[], Awaitable[None]]] = {
            "feed": client.run,
            "snapshot": partial(snapshot.keep, settings.snapshot_every_s),
            **{f"waiting-{resource}": watch.run for resource, watch in watches.items()},
        }
        for name, work in works.items():
            await stack.enter_async_context(beside(again_and_again(name, work)))
        certificate = await _certificate(settings, metrics, pages)
        await stack.enter_async_context(beside(again_and_again("certificate", certificate.watch)))
        server = SizingServer(answerer)
        stack.callback(server.close)
        port = await stack.enter_async_context(
            listening(
                server.app(),
                settings.listen_address,
                settings.listen_port,
                grace_s=settings.grace_s,
                tls=certificate.context,
            )
        )
        pages.trouble = None
        yield Running(port, metrics_port, state, freshness, metrics, pages, server)


def _leasing(url: str | None, token: str | None, run: str) -> Leasing | None:
    """Return what a new Job's pods need for leasing; None if nobody leases, or no key is known yet.

    The feed's token is a key that the controller has, too. A Job's own key reveals nothing of it.
    """
    return None if url is None or token is None else Leasing(url, token.encode(), run)


def _gate_watches(settings: AdmissionSettings, metrics: AdmissionMetrics) -> dict[str, GateWatch]:
    """Return, by resource, what releases pods and Jobs while nobody leads.

    It is empty where none is ever held.
    """
    if settings.lease is None:
        return {}
    url = settings.api_url or cluster_url(os.environ)
    if url is None:
        log.warning("no pod is held: no API server is known; set PLIMSOLL_API_URL")
        return {}
    address = ApiAddress(url, settings.api_token_file, settings.api_ca_file)
    return {
        kind.resource: GateWatch(
            calls=ApiCalls(address),
            lease=(settings.namespace, settings.lease),
            now_s=time.monotonic,
            count=lambda why: metrics.let_go.labels(why.value).inc(),
            kind=kind,
        )
        for kind in (PODS, JOBS)
    }


def _feed_failed(reason: str, freshness: Freshness, metrics: AdmissionMetrics) -> None:
    metrics.feed_errors.labels(reason).inc()
    if reason == UNANSWERED:
        freshness.fail(time.monotonic())


async def _certificate(
    settings: AdmissionSettings, metrics: AdmissionMetrics, pages: Pages
) -> Certificate:
    """Return the certificate to start with, as soon as there is a usable one."""
    while True:
        try:
            return Certificate(settings.certificate_file, settings.key_file, metrics)
        except CertificateError as error:
            if pages.trouble != str(error):
                log.error("no certificate to serve with; looking again", error=str(error))
                metrics.certificate_errors.inc()
            pages.trouble = str(error)
            await asyncio.sleep(POLL_S)
