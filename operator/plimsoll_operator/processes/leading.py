"""Does what the leader does: it runs the operator, serves feed and page, and keeps credentials."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import kopf
import structlog
from aiohttp import web

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.ordering.unstarted_leader import UnstartedLeader
from plimsoll_operator.controller.serving.alarm_routes import alarm_routes
from plimsoll_operator.controller.serving.grant_routes import grant_routes
from plimsoll_operator.controller.serving.node_use_routes import node_use_routes
from plimsoll_operator.controller.serving.page_routes import LiveTasks, page_app
from plimsoll_operator.controller.serving.peak_routes import PodFacts, peak_routes
from plimsoll_operator.controller.serving.web import Face, Readiness
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.training_rounds.rounds import learned_by
from plimsoll_operator.feed.routes import board_routes
from plimsoll_operator.handlers.registry import configure, registry_for
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.login import login_with
from plimsoll_operator.leadership.election import Fitness
from plimsoll_operator.metrics.controller import metrics_route
from plimsoll_operator.metrics.process import ProcessMetrics
from plimsoll_operator.processes.credentials import BearerTokens, keep
from plimsoll_operator.processes.ending import beside
from plimsoll_operator.processes.serving import listening
from plimsoll_operator.training.feature_learning import FeatureLesson
from plimsoll_operator.training.mlflow_client import MlflowServer
from plimsoll_operator.training.shape_learning import ShapeLesson
from plimsoll_operator.training.spawning import Spawner
from plimsoll_operator.training.store_learning import Lesson, StoreLearning
from plimsoll_operator.training.tracking import Outbox, TrackingRules, tracking
from plimsoll_operator.web.page.serving import Pages
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.store import Store, StoreError, WorkKind

log = structlog.get_logger()

STORE_PAUSE_S = 2.0


@asynccontextmanager
async def lead(
    settings: ControllerSettings, face: Face, kube: Kube, metrics: ProcessMetrics, fitness: Fitness
) -> AsyncIterator[Controller]:
    """Enter when the store's knowledge is restored and served; leave when all is written."""
    async with AsyncExitStack() as stack:
        async with _nobody_waits_for_long(settings, kube, fitness):
            # Before the store: admission's pods cannot start before there are Secrets to mount.
            tokens = await stack.enter_async_context(keep(settings, kube, metrics))
            store = await _opened(settings, face)
            stack.callback(store.close)
            spawner = Spawner(
                store_url=settings.store_url,
                budget_s=settings.training_budget_s,
                memory_mib=settings.training_memory_mib,
            )
            controller = Controller(settings, kube, store, spawner)
            stack.push_async_callback(controller.close)
            face.say_readiness(lambda: _leader_readiness(controller, fitness))
            _answer(face, controller, tokens, by_agent=settings.rescue_by_agent)
            live = LiveTasks(
                controller.book,
                controller.profiles.status,
                lambda: controller.lending.told,
                lambda: controller.rounds.now if controller.rounds else None,
            )
            pages = Pages(store, live, time.monotonic)
            stack.callback(pages.close)
            port = await stack.enter_async_context(
                listening(
                    page_app(pages, settings.page_host), settings.page_host, settings.page_port
                )
            )
            log.info("page served", host=settings.page_host, port=port)
            await stack.enter_async_context(_tracking(settings, controller, store))
            await stack.enter_async_context(_leasing(settings, controller, tokens))
            await controller.start()
        pages.warm()
        shapes = ShapeLesson(store=store, writer=controller.writer, now_s=time.time)
        features = FeatureLesson(
            store=store,
            writer=controller.writer,
            now_s=time.time,
            fitted=controller.runtimes.expert_fitted,
        )
        lessons: tuple[tuple[Lesson, WorkKind, str], ...] = (
            (shapes, WorkKind.SHAPES, "once a day"),
            (features, WorkKind.FEATURES, "enough is new"),
        )
        for lesson, kind, why in lessons:
            learning = StoreLearning(
                lesson=lesson,
                store_url=settings.store_url,
                turn=controller.queue.turn,
                memory_mib=settings.training_memory_mib,
                learned_by=learned_by(controller.rounds, kind, why),
            )
            await stack.enter_async_context(beside(learning.run()))
        yield controller


@asynccontextmanager
async def _nobody_waits_for_long(
    settings: ControllerSettings, kube: Kube, fitness: Fitness
) -> AsyncIterator[None]:
    """During a start, whatever it waits for, pods that wait for their turn do not wait with it."""
    if settings.lease is None:
        yield
        return
    leader = UnstartedLeader(kube.api, lambda: fitness.unanswered() is not None)
    async with beside(leader.run()):
        yield


async def watch(
    settings: ControllerSettings, controller: Controller, ending: asyncio.Event
) -> None:
    """Act on the API server's events, until SIGTERM or SIGINT, or until ``ending`` is set.

    The feed is served for some seconds more, while what was learned is saved. It says from then on
    that nobody sees kills.

    If a watch fails for good, the process ends, and a standby or a new start goes on: kopf cannot
    begin anew here, because it keeps the signals.

    ``kopf.operator`` would then wait 5 s for all tasks of the event loop that are younger than
    itself, and cancel them. Connections that agents keep open are such tasks, and nobody would
    observe anything meanwhile. Here kopf ends only what is its own.
    """
    registry = registry_for(controller.watch)
    kopf.on.login(registry=registry)(login_with(settings.kubeconfig, settings.context))
    kopf_settings = kopf.OperatorSettings()
    configure(kopf_settings)
    # Else kopf asks for its user's name, which a `runAsUser` of people's own does not have.
    identity: Any = settings.instance
    try:
        watching = await kopf.spawn_tasks(
            registry=registry,
            settings=kopf_settings,
            identity=identity,
            clusterwide=True,
            standalone=True,
            stop_flag=ending,
        )
        # The first that ends was told to end, or has failed: none of them ends by itself.
        await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Before the handlers end, which have some seconds to do so.
        controller.healing.end()
    for task in watching:
        task.cancel()
    for end in await asyncio.gather(*watching, return_exceptions=True):
        if isinstance(end, Exception):
            raise end


async def _opened(settings: ControllerSettings, face: Face) -> Store:
    """Open the store. If it fails, one of several controllers waits; the only one raises."""
    trouble: str | None = None
    while True:
        try:
            # In a thread: a migration may take long, and the lead must be kept meanwhile.
            return await asyncio.to_thread(Store.open, settings.store_url)
        except StoreError as error:
            if settings.lease is None:
                raise
            words = str(error)
            face.say_readiness(partial(Readiness, ready=False, words=words))
            if words != trouble:
                log.error("the store cannot be opened; trying again", why=words)
            trouble = words
            await asyncio.sleep(STORE_PAUSE_S)


def _leader_readiness(controller: Controller, fitness: Fitness) -> Readiness:
    if not controller.started:
        return Readiness(ready=False, words="starting: waiting for the API server")
    trouble = controller.writer.trouble or fitness.unanswered()
    return Readiness(ready=trouble is None, words=trouble or "ok")


def _answer(face: Face, controller: Controller, tokens: BearerTokens, *, by_agent: bool) -> None:
    """Answer admission and agents by the tokens known now, and again after each change of them.

    by_agent: whether agents may raise pods by themselves; else their reports of it are ignored.
    """
    own = metrics_route(controller.metrics)
    unknown, heard = secrets.token_urlsafe(32), controller.lending.heard.hear

    async def persist(reports: Sequence[PeakReport]) -> None:
        await controller.writer.report(to_document(reports))

    def answer() -> None:
        routes: list[web.RouteDef] = [
            *board_routes(controller.board, tokens.feed or unknown),
            *peak_routes(
                controller.peaks,
                persist,
                tokens.peaks or unknown,
                PodFacts(controller.known_need, controller.rescues.rescuable),
                heard,
            ),
            *alarm_routes(controller.rescues.hear, tokens.peaks or unknown),
            *(grant_routes(controller.rescues.grant, tokens.peaks or unknown) if by_agent else ()),
            *node_use_routes(controller.loads.take, tokens.peaks or unknown),
            own,
        ]
        face.lead(routes, lambda: controller.started)

    tokens.follow(answer)


@asynccontextmanager
async def _leasing(
    settings: ControllerSettings, controller: Controller, tokens: BearerTokens
) -> AsyncIterator[None]:
    """Have pods lease the items of their Jobs, if a port is set. Only the leader opens it."""
    if settings.leases_port is None:
        yield
        return
    leased = controller.leased

    def key() -> bytes | None:
        return None if tokens.feed is None else tokens.feed.encode()

    app = ChunkServer(leased.keeper, key, leased.open).app()
    async with listening(app, settings.leases_host, settings.leases_port) as port:
        log.info("leases served", host=settings.leases_host, port=port)
        yield


def _tracking(
    settings: ControllerSettings, controller: Controller, store: Store
) -> AbstractAsyncContextManager[object]:
    server = None
    if settings.mlflow_url is not None:
        address = settings.mlflow_url.get_secret_value()
        server = MlflowServer.at(address, settings.mlflow_token_file)
    tried = controller.metrics.tracked_trainings
    outbox = Outbox(store, controller.writer, lambda result: tried.labels(result).inc())
    return tracking(server, outbox, TrackingRules(prefix=settings.mlflow_prefix))
