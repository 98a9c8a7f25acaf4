"""``plimsoll run``: controller, admission and, on a node, the agent, started together."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import structlog
from kubernetes_asyncio import client

from plimsoll_operator.credentials.token_file import token_file_in
from plimsoll_operator.kube.api_server import ApiServer, api_settings
from plimsoll_operator.kube.client import ANSWER_WITHIN_S
from plimsoll_operator.names.namespaces import OWN_NAMESPACE, excluded_namespaces
from plimsoll_operator.names.service_urls import with_brackets
from plimsoll_operator.processes.ending import (
    Terminated,
    beside,
    unless_terminated,
    when_terminated,
)
from plimsoll_operator.processes.run_certificate import RunCertificate, utc_now
from plimsoll_operator.processes.run_claims import (
    NotReady,
    alone_in,
    check_free,
    check_unclaimed,
    registered,
)
from plimsoll_operator.processes.run_processes import Command, keep_running
from plimsoll_operator.processes.run_webhook import webhook_configuration
from plimsoll_operator.training.limits import BUDGET_S
from plimsoll_predictor.core.policy import Mode

log = structlog.get_logger()

READY_WITHIN_S = 300.0
"""On a busy machine two minutes were seen. If a child ends by itself, that is logged at once."""
SAID_EVERY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of one machine's Plimsoll.

    host: an address of this machine at which the API server reaches admission.
    excluded_namespaces: left alone besides kube-system and plimsoll; separated by commas.
    agent: also measure this machine's pods, as the node called ``node_name``.
    """

    state_dir: Path
    kubeconfig: str | None = None
    context: str | None = None
    host: str = "127.0.0.1"
    admission_port: int = 9443
    controller_port: int = 8081
    page_port: int = 8082
    metrics_port: int = 9090
    leases_port: int = 8083
    mode: Mode = Mode.RECOMMEND
    excluded_namespaces: str = ""
    training_budget_s: float = BUDGET_S
    agent: bool = False
    node_name: str = "node-1"

    @property
    def left_alone(self) -> frozenset[str]:
        """All namespaces that are left alone; ValueError for a text that is no name."""
        return excluded_namespaces(self.excluded_namespaces, OWN_NAMESPACE)

    @property
    def ports(self) -> dict[str, tuple[str, int]]:
        """Where its processes listen: option -> host and port."""
        here = "127.0.0.1"
        return {
            "--controller-port": (here, self.controller_port),
            "--page-port": (here, self.page_port),
            "--admission-port": (self.host, self.admission_port),
            "--metrics-port": (self.host, self.metrics_port),
            "--leases-port": (self.host, self.leases_port),
        }

    @property
    def store(self) -> str:
        """URL of the store, a file in ``state_dir``."""
        return f"sqlite:///{self.state_dir.resolve()}/plimsoll.db"


Answers = Callable[[aiohttp.ClientSession, str], Awaitable[bool]]
"""Says whether a process answers at this page that it is ready."""
Readiness = Callable[[RunSettings, asyncio.Event], Awaitable[None]]
"""Returns when controller and admission are ready, or the end has come."""


async def _answers(session: aiohttp.ClientSession, page: str) -> bool:
    try:
        async with session.get(page, timeout=aiohttp.ClientTimeout(total=2)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


async def until_ready(
    settings: RunSettings, ending: asyncio.Event, answers: Answers = _answers
) -> None:
    """Wait until controller and admission answer that they are ready; raise NotReady if late.

    Whoever waits is told every half minute for what.
    """
    pages = {
        "controller": f"http://127.0.0.1:{settings.controller_port}/readyz",
        "admission": with_brackets(f"http://{settings.host}:{settings.metrics_port}/readyz"),
    }
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    said_at_s = began_s + SAID_EVERY_S
    async with aiohttp.ClientSession() as session:
        while pages and not ending.is_set():
            for name, page in list(pages.items()):
                if await answers(session, page):
                    del pages[name]
            waited_s = loop.time() - began_s
            logs = ", ".join(str(settings.state_dir / f"{name}.log") for name in pages)
            if pages and waited_s > READY_WITHIN_S:
                raise NotReady(f"not ready after {READY_WITHIN_S:.0f} s: see {logs}")
            if pages and loop.time() > said_at_s:
                said_at_s += SAID_EVERY_S
                log.warning("still starting", waited_s=round(waited_s), logs=logs)
            await asyncio.sleep(0.1)


def run(settings: RunSettings) -> None:
    """Run until SIGTERM or SIGINT; then remove the webhook configuration, too."""
    asyncio.run(_run_until_terminated(settings))


async def _run_until_terminated(settings: RunSettings) -> None:
    await run_until(settings, when_terminated())


async def run_until(
    settings: RunSettings, ending: asyncio.Event, readiness: Readiness = until_ready
) -> None:
    """Run until ``ending`` is set; then remove the webhook configuration, too.

    Raises:
        NotReady: if it cannot run here, or is not ready in time.
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(Terminated), alone_in(settings.state_dir):
        api_client = client.ApiClient(await api_settings(settings.kubeconfig, settings.context))
        async with api_client:
            api = ApiServer(api_client, within_s=ANSWER_WITHIN_S)
            await _run_alone(settings, api, ending, readiness)


async def _run_alone(
    settings: RunSettings, api: ApiServer, ending: asyncio.Event, readiness: Readiness
) -> None:
    address = with_brackets(f"https://{settings.host}:{settings.admission_port}")
    await unless_terminated(ending, check_unclaimed(api, address))
    await unless_terminated(ending, check_free(settings.ports))
    # Only now: the admission of a run that goes on would show a new certificate at once.
    certificate = RunCertificate.make(
        settings.state_dir / "certificates", [settings.host, "localhost"], utc_now()
    )
    commands = _commands(settings, token_file_in(settings.state_dir))
    children = [asyncio.create_task(keep_running(command)) for command in commands]
    ready_file = settings.state_dir / "ready.json"
    try:
        await readiness(settings, ending)
        if ending.is_set():
            return
        body = webhook_configuration(address, certificate.authority, settings.left_alone)
        async with registered(api, address, body, ending):
            ready_file.write_text(json.dumps({"pid": os.getpid(), "store": settings.store}))
            log.info("plimsoll runs", state=str(settings.state_dir), mode=settings.mode.value)
            async with beside(certificate.keep(api)):
                await ending.wait()
    finally:
        ready_file.unlink(missing_ok=True)
        for child in children:
            child.cancel()
        await asyncio.gather(*children, return_exceptions=True)


def _commands(settings: RunSettings, token: Path) -> list[Command]:
    folder = settings.state_dir
    excluded = ("--excluded-namespaces", ",".join(sorted(settings.left_alone)))
    feed = f"http://127.0.0.1:{settings.controller_port}"
    cluster = [
        *(["--kubeconfig", settings.kubeconfig] if settings.kubeconfig else []),
        *(["--context", settings.context] if settings.context else []),
    ]
    controller = [
        *("controller", "--store", settings.store, "--token-file", str(token), *cluster),
        *("--port", str(settings.controller_port), "--page-port", str(settings.page_port)),
        *("--mode", settings.mode.value),
        *excluded,
        *("--training-budget", str(settings.training_budget_s)),
        *("--leases-host", settings.host, "--leases-port", str(settings.leases_port)),
    ]
    admission = [
        *("admission", "--address", settings.host, "--port", str(settings.admission_port)),
        *("--metrics-port", str(settings.metrics_port), "--drain", "0"),
        *excluded,
        *("--certificate", str(folder / "certificates" / "tls.crt")),
        *("--key", str(folder / "certificates" / "tls.key")),
        *("--feed", feed, "--token-file", str(token), "--snapshot", str(folder / "snapshot")),
        *("--leases", with_brackets(f"http://{settings.host}:{settings.leases_port}")),
    ]
    agent = [
        *("agent", "--controller", feed, "--token-file", str(token)),
        *("--node-name", settings.node_name, "--state-dir", str(folder / "agent")),
    ]
    chosen = [controller, admission, *([agent] if settings.agent else [])]
    return [Command(words[0], words, folder / f"{words[0]}.log") for words in chosen]
