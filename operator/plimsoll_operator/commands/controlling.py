"""``plimsoll controller``: the operator's process."""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import kopf
import structlog

from plimsoll_operator.controller.controller import Controller, Identity
from plimsoll_operator.controller.kube import Kube
from plimsoll_operator.controller.login import login_with
from plimsoll_operator.controller.peak_routes import peak_routes
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.web import Listening, Page, serve_http
from plimsoll_operator.feed.routes import board_routes
from plimsoll_operator.handlers.registry import configure, registry_for
from plimsoll_operator.metrics import metrics_routes
from plimsoll_operator.peaks import PeakReport
from plimsoll_operator.report.data import gather
from plimsoll_operator.report.page import render
from plimsoll_operator.training.mlflow_client import MlflowServer
from plimsoll_operator.training.queue import TrainingQueue
from plimsoll_operator.training.spawning import Spawner
from plimsoll_operator.training.tracking import Outbox, TrackingRules, tracking
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.store import Store
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()


def serve(settings: ControllerSettings) -> None:
    """Run until SIGTERM or SIGINT."""
    asyncio.run(_serve(settings))


async def _serve(settings: ControllerSettings) -> None:
    store = Store.open(settings.store_url)
    kube = await Kube.connect(settings.kubeconfig, settings.context)
    identity = Identity(
        settings.instance, uuid.uuid4().hex, time.time, settings.late_bindings_per_s
    )
    controller = Controller(
        kube, store, _queue(settings, store), Policy(mode=settings.mode), identity
    )
    token = _token(settings)
    routes = [
        *board_routes(controller.board, token),
        *peak_routes(controller.peaks, _persist(controller, store), token),
        *metrics_routes(controller.metrics, controller.writer, lambda: len(controller.book)),
    ]
    where = Listening(
        settings.listen_host, settings.listen_port, started=lambda: controller.started
    )
    async with AsyncExitStack() as stack:
        stack.callback(store.close)
        stack.push_async_callback(kube.close)
        stack.push_async_callback(controller.close)
        runner, port = await serve_http(routes, _page(controller, store), where)
        stack.push_async_callback(runner.cleanup)
        log.info("controller serves", host=settings.listen_host, port=port)
        await stack.enter_async_context(_tracking(settings, controller, store))
        await controller.start()
        await _watch(settings, controller)


async def _watch(settings: ControllerSettings, controller: Controller) -> None:
    registry = registry_for(controller)
    kopf.on.login(registry=registry)(login_with(settings.kubeconfig, settings.context))
    kopf_settings = kopf.OperatorSettings()
    configure(kopf_settings)
    await kopf.operator(
        registry=registry, settings=kopf_settings, clusterwide=True, standalone=True
    )


def _queue(
    settings: ControllerSettings, store: Store
) -> Callable[[Callable[..., Any]], TrainingQueue]:
    def make(on_result: Callable[..., Any]) -> TrainingQueue:
        spawner = Spawner(
            store_url=settings.store_url,
            budget_s=settings.training_budget_s,
            memory_mib=settings.training_memory_mib,
        )
        return TrainingQueue(spawner, store, on_result)

    return make


def _persist(controller: Controller, store: Store) -> Callable[..., Any]:
    async def persist(reports: Sequence[PeakReport]) -> None:
        await controller.writer.call(store.put_peaks, [each.to_dict() for each in reports])

    return persist


def _page(controller: Controller, store: Store) -> Page:
    async def page(task: str | None) -> str:
        tasks = None if task is None else (TaskId.parse(task),)
        data = await controller.writer.read(gather, store, tasks)
        return await asyncio.to_thread(render, data, time.time())

    return page


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


def _token(settings: ControllerSettings) -> str:
    """The bearer token of feed and peaks; one nobody knows where none is given."""
    if settings.token_file is None:
        return secrets.token_urlsafe(32)
    token = settings.token_file.read_text(encoding="utf-8").strip()
    if not token:
        raise OSError(f"{settings.token_file} holds no token; write one into it")
    return token
