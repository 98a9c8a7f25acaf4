"""``plimsoll controller``: the operator's process. It serves, waits for the lead, and leads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import structlog

from plimsoll_operator.controller.serving.web import Face, Readiness
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.election import AlwaysFit, Election, Fitness, Terms
from plimsoll_operator.leadership.store_probe import Question, StoreProbe
from plimsoll_operator.leadership.watchdog import LOST
from plimsoll_operator.metrics.process import ProcessMetrics
from plimsoll_operator.processes.ending import (
    Terminated,
    beside,
    unless_terminated,
    when_terminated,
)
from plimsoll_operator.processes.leading import lead, watch
from plimsoll_operator.processes.serving import listening
from plimsoll_operator.processes.standing_by import StoreOutOfReach, stand_by

log = structlog.get_logger()

FIRST_ANSWER_S = 3.0
THREADS_END_WITHIN_S: Final = 1.0
"""Threads that take longer hang, as in a call to a database that is gone without an error."""
TASKS_END_WITHIN_S: Final = 1.0


def serve(settings: ControllerSettings) -> None:
    """Run until SIGTERM or SIGINT."""
    others = frozenset(threading.enumerate())
    try:
        with contextlib.suppress(Terminated):
            asyncio.run(_serve(settings))
    except StoreOutOfReach as error:
        log.error("stands by no longer: a new start reads the store's address anew", why=str(error))
        raise SystemExit(LOST) from error
    _leave_threads_that_hang(others)


def _leave_threads_that_hang(others: Collection[threading.Thread]) -> None:
    """End the process if threads hang that this one began: the interpreter would wait for them.

    others: threads that were there before.
    """
    until_s = time.monotonic() + THREADS_END_WITHIN_S
    own = [each for each in threading.enumerate() if each not in others and not each.daemon]
    for thread in own:
        thread.join(max(0.0, until_s - time.monotonic()))
    hanging = sorted(thread.name for thread in own if thread.is_alive())
    if not hanging:
        return
    log.warning("ends, although calls of its threads hang", threads=hanging)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def _serve(settings: ControllerSettings) -> None:
    ending = when_terminated()
    metrics = ProcessMetrics()
    face = Face(metrics.registry, lambda: Readiness(ready=False, words="starting"))
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(
            listening(face.app(), settings.listen_host, settings.listen_port)
        )
        log.info("controller serves", host=settings.listen_host, port=port)
        kube = await Kube.connect(settings.kubeconfig, settings.context)
        stack.push_async_callback(kube.close)
        fitness = await stack.enter_async_context(_elected(settings, face, ending))
        metrics.leader.set(1)
        await stack.enter_async_context(_nothing_outlives())
        leading = lead(settings, face, kube, metrics, fitness)
        controller = await unless_terminated(ending, stack.enter_async_context(leading))
        await watch(settings, controller, ending)


@asynccontextmanager
async def _elected(
    settings: ControllerSettings, face: Face, ending: asyncio.Event
) -> AsyncIterator[Fitness]:
    """Enter when this controller leads, and leave when it has given the lead up.

    The election has connections of its own: no burst of other calls may delay a renewal.
    """
    if settings.lease is None:
        yield AlwaysFit()
        return
    async with AsyncExitStack() as stack:
        kube = await Kube.connect(settings.kubeconfig, settings.context)
        stack.push_async_callback(kube.close)
        fitness = await _fitness(settings, stack)
        terms = Terms(settings.lease, settings.instance, settings.lease_s)
        election = Election(OwnObjects(kube, settings.namespace), terms, fitness)
        face.say_readiness(lambda: _standing_by(election))
        await unless_terminated(ending, stand_by(election.stand_by(), fitness))
        stack.push_async_callback(election.give_up)
        await stack.enter_async_context(beside(election.keep()))
        yield fitness


@asynccontextmanager
async def _nothing_outlives() -> AsyncIterator[None]:
    """When left, cancel what was begun inside and still goes on: only a leader may do it.

    What the inside ends by itself, such as all that saves, it has ended by then.
    """
    older = asyncio.all_tasks()
    try:
        yield
    finally:
        left = asyncio.all_tasks() - older
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=TASKS_END_WITHIN_S)


async def _fitness(settings: ControllerSettings, stack: AsyncExitStack) -> Fitness:
    if not settings.store_url.startswith("postgres"):
        # The store is its own file: another controller could not do better.
        return AlwaysFit()
    question = Question(settings.store_url)
    stack.callback(question.close)
    probe = StoreProbe(question)
    stack.callback(probe.close)
    await asyncio.to_thread(probe.asked.wait, FIRST_ANSWER_S)
    return probe


def _standing_by(election: Election) -> Readiness:
    if election.trouble is not None:
        return Readiness(ready=False, words=election.trouble)
    return Readiness(ready=True, words=f"standing by: {election.leader or 'nobody yet'} leads")
