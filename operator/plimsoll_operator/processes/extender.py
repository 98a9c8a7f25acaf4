"""The extender's process: assembles its parts, starts them, and ends without losing a question."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog
import uvloop

from plimsoll_operator.extender.metrics import ExtenderMetrics
from plimsoll_operator.extender.scoring import Scorer
from plimsoll_operator.extender.server import Pages, Questions
from plimsoll_operator.extender.settings import ExtenderSettings
from plimsoll_operator.feed.client import FeedClient
from plimsoll_operator.feed.wire import Reader
from plimsoll_operator.metrics.quiet_log import QuietLog
from plimsoll_operator.processes.ending import (
    Terminated,
    beside,
    unless_terminated,
    when_terminated,
)
from plimsoll_operator.processes.serving import again_and_again, feed_source, listening
from plimsoll_operator.sizing.state import AdmissionState

log = structlog.get_logger()

_GRACE_S: Final = 1.0
"""Questions are answered within milliseconds, or their scheduler has continued without them."""


@dataclass(frozen=True, slots=True)
class RunningExtender:
    """An extender that listens."""

    port: int
    metrics_port: int
    scorer: Scorer
    pages: Pages
    questions: Questions

    def drain(self) -> None:
        """Go on answering, but send new questions to others: readiness and connections end."""
        self.pages.draining = True
        self.questions.draining = True


def serve(settings: ExtenderSettings) -> None:
    """Serve until SIGTERM or SIGINT, or raise OSError if a port is taken."""
    with (
        contextlib.suppress(Terminated),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve_until_told(settings))


async def _serve_until_told(settings: ExtenderSettings) -> None:
    ending = when_terminated()
    async with AsyncExitStack() as stack:
        extender = await unless_terminated(
            ending, stack.enter_async_context(running_extender(settings))
        )
        # All that is loaded by now stays: collections need not spend time on it again.
        gc.collect()
        gc.freeze()
        log.info("extender-serves", port=extender.port, metrics_port=extender.metrics_port)
        await ending.wait()
        extender.drain()
        log.info("extender-drains", seconds=settings.drain_s)
        await asyncio.sleep(settings.drain_s)
    log.info("extender-ended")


@asynccontextmanager
async def running_extender(settings: ExtenderSettings) -> AsyncIterator[RunningExtender]:
    """Have an extender listen while the context is open."""
    metrics, state = ExtenderMetrics(), AdmissionState()
    scorer = Scorer(
        state=state,
        metrics=metrics,
        log=QuietLog(time.monotonic),
        monotonic=time.monotonic,
        deadline_s=settings.deadline_s,
        excluded=settings.excluded_namespaces,
    )
    client = FeedClient(
        source=feed_source(settings.feed_url, settings.feed_token_file, settings.feed_ca_file),
        state=state,
        heard=scorer.hear,
        failed=lambda reason: metrics.feed_errors.labels(reason).inc(),
        jitter=random.Random(),
        reader=Reader.EXTENDER,
    )
    pages = Pages(scorer, time.monotonic, time.monotonic() + settings.unheard_s)
    questions = Questions(scorer, time.monotonic)
    address = settings.listen_address
    # Contexts end in the opposite order: open questions end first, while all else still works.
    async with AsyncExitStack() as stack:
        metrics_port = await stack.enter_async_context(
            listening(pages.app(), address, settings.metrics_listen_port, grace_s=_GRACE_S)
        )
        await stack.enter_async_context(beside(again_and_again("feed", client.run)))
        port = await stack.enter_async_context(
            listening(questions.app(), address, settings.listen_port, grace_s=_GRACE_S)
        )
        yield RunningExtender(port, metrics_port, scorer, pages, questions)
