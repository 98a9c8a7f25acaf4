"""``plimsoll run`` beside another Plimsoll: it replaces and deletes nothing that others made."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.processes import run, run_claims
from plimsoll_operator.processes.run import Readiness, RunSettings
from plimsoll_operator.processes.run_claims import NotReady
from plimsoll_operator.processes.run_processes import Command
from plimsoll_operator.processes.run_webhook import NAME, webhook_configuration
from tests.rigs.servers.webhook_configurations import Webhooks, served_webhooks

OURS = webhook_configuration("https://127.0.0.1:9443", b"old")
CHARTS = {
    "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "Helm"}},
    "webhooks": [
        {
            "name": "size.plimsoll.dev",
            "clientConfig": {"service": {"namespace": "plimsoll", "name": "plimsoll-admission"}},
        }
    ],
}
ANOTHER_RUNS = webhook_configuration("https://10.0.0.7:9443", b"theirs")


async def at_once(_: RunSettings, _ending: asyncio.Event) -> None:
    """The children are ready."""
    await asyncio.sleep(0)


@dataclass
class ARun:
    """A ``plimsoll run`` whose children do nothing and are ready at once.

    started: the children's names. ending: what SIGTERM sets. readiness: called when they start.
    """

    api: Webhooks
    folder: Path
    started: list[str] = field(default_factory=list)
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    readiness: Readiness = at_once

    def settings(self, **changes: Any) -> RunSettings:
        path = self.folder / "kubeconfig"
        cluster = {"name": "c", "cluster": {"server": self.api.url}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        document = {"clusters": [cluster], "contexts": [context], "current-context": "c"}
        path.write_text(json.dumps({**document, "users": [{"name": "u", "user": {}}]}))
        # Port 0 is any: the children are not started here.
        ports = dict.fromkeys(("controller_port", "page_port", "metrics_port", "leases_port"), 0)
        asked = {"state_dir": self.state, "kubeconfig": str(path), **ports, **changes}
        return RunSettings(**asked)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def ready_file(self) -> Path:
        return self.state / "ready.json"

    @property
    def certificate(self) -> bytes:
        return (self.state / "certificates" / "tls.crt").read_bytes()

    async def run(self, **changes: Any) -> None:
        """Run to the end."""
        await run.run_until(self.settings(**changes), self.ending, self.readiness)

    async def registered(self, **changes: Any) -> asyncio.Task[None]:
        """Run in the background; return when it is registered."""
        running = asyncio.create_task(self.run(**changes))
        async with asyncio.timeout(30):
            while not self.ready_file.exists():
                await asyncio.sleep(0.01)
        return running

    async def end(self, running: asyncio.Task[None]) -> None:
        self.ending.set()
        await running


@pytest_asyncio.fixture
async def a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ARun]:
    async with served_webhooks() as api:
        made = ARun(api, tmp_path)

        async def keep(command: Command) -> None:
            made.started.append(command.name)
            await asyncio.Event().wait()

        monkeypatch.setattr(run, "keep_running", keep)
        yield made


@pytest.mark.parametrize(
    ("theirs", "where"),
    [
        pytest.param(CHARTS, "the Service plimsoll/plimsoll-admission", id="the chart's"),
        pytest.param(ANOTHER_RUNS, "https://10.0.0.7:9443", id="another run's"),
        pytest.param(
            {**OURS, "metadata": CHARTS["metadata"]},
            "https://127.0.0.1:9443",
            id="no label of ours",
        ),
        pytest.param({"metadata": {"name": NAME}}, "nobody", id="an empty one"),
    ],
)
async def test_a_configuration_that_somebody_else_made_is_neither_changed_nor_deleted(
    a_run: ARun, theirs: Any, where: str
) -> None:
    a_run.api.kept = theirs
    with pytest.raises(NotReady, match="not of this `plimsoll run`") as refused:
        await a_run.run()
    assert where in str(refused.value)
    assert (a_run.api.kept, a_run.api.calls, a_run.started) == (theirs, [], [])


async def test_one_that_appears_while_it_starts_is_neither_changed_nor_deleted(a_run: ARun) -> None:
    async def until_ready(*_: object) -> None:
        await asyncio.sleep(0)
        a_run.api.kept = CHARTS

    a_run.readiness = until_ready
    with pytest.raises(NotReady, match="not of this `plimsoll run`"):
        await a_run.run()
    assert (a_run.api.kept, a_run.api.calls) == (CHARTS, ["POST"])
    assert a_run.started == ["controller", "admission"]
    assert not a_run.ending.is_set()


@pytest.mark.parametrize("left_behind", [None, OURS], ids=["the first", "after a kill"])
async def test_its_own_configuration_is_made_or_taken_over_and_deleted_at_the_end(
    a_run: ARun, left_behind: Any
) -> None:
    a_run.api.kept = left_behind
    running = await a_run.registered()
    assert a_run.api.kept["webhooks"] != OURS["webhooks"], "it trusts the new certificate"
    assert a_run.started == ["controller", "admission"]
    await a_run.end(running)
    assert a_run.api.kept is None


async def test_what_somebody_put_in_its_place_meanwhile_is_not_deleted(a_run: ARun) -> None:
    running = await a_run.registered()
    a_run.api.kept = CHARTS
    await a_run.end(running)
    assert a_run.api.kept == CHARTS
    assert a_run.started == ["controller", "admission"]


async def test_it_ends_and_ends_its_children_though_the_api_server_hangs(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_claims, "REMOVED_WITHIN_S", 0.1)
    running = await a_run.registered()
    a_run.api.answers.clear()
    a_run.ending.set()
    await asyncio.wait([running], timeout=30)
    assert running.done(), "it waits for the API server"
    await running
    assert a_run.started == ["controller", "admission"]
    assert not a_run.ready_file.exists()
    assert a_run.api.kept is not None, "the next run here takes it over"


async def test_a_start_against_an_api_server_that_hangs_fails_and_says_why(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ANSWER_WITHIN_S", 0.1)
    a_run.api.answers.clear()
    running = asyncio.create_task(a_run.run())
    await asyncio.wait([running], timeout=30)
    assert running.done(), "it waits for the API server"
    with pytest.raises(Unreachable, match="does not answer"):
        await running
    assert a_run.started == []
    assert not a_run.ending.is_set()


@pytest.mark.parametrize("registers", [False, True], ids=["at its first question", "registering"])
async def test_a_start_against_an_api_server_that_hangs_is_ended(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch, registers: bool
) -> None:
    monkeypatch.setattr("plimsoll_operator.processes.run_claims.REMOVED_WITHIN_S", 0.1)
    monkeypatch.setattr(run, "ANSWER_WITHIN_S", 3600.0)

    async def until_ready(*_: object) -> None:
        a_run.api.answers.clear()
        asyncio.get_running_loop().call_later(0.2, a_run.ending.set)

    a_run.readiness = until_ready
    if not registers:
        await until_ready()
    running = asyncio.create_task(a_run.run())
    await asyncio.wait([running], timeout=60)
    assert running.done(), "it waits for the API server"
    await running
    assert a_run.started == (["controller", "admission"] if registers else [])


async def test_what_is_being_registered_when_the_end_comes_is_removed(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server carries out what it was asked for, whether anybody waits for its answer."""
    create = ApiServer.create

    async def ended_meanwhile(self: ApiServer, *asked: Any) -> Any:
        a_run.ending.set()
        for _ in range(3):
            await asyncio.sleep(0)
        return await create(self, *asked)

    monkeypatch.setattr(ApiServer, "create", ended_meanwhile)
    await a_run.run()
    assert (a_run.api.kept, a_run.api.calls[-2:]) == (None, ["POST", "DELETE"])
    assert a_run.started == ["controller", "admission"]


async def test_an_address_of_ipv6_is_written_in_brackets_into_each_url(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = []

    async def answers(_: object, page: str) -> bool:
        await asyncio.sleep(0)
        pages.append(page)
        return True

    a_run.readiness = partial(run.until_ready, answers=answers)
    monkeypatch.setattr(run, "check_free", lambda _: asyncio.sleep(0))
    running = await a_run.registered(host="::1", metrics_port=9090)
    assert a_run.api.kept is not None
    urls = {each["clientConfig"]["url"] for each in a_run.api.kept["webhooks"]}
    await a_run.end(running)
    assert "http://[::1]:9090/readyz" in pages
    assert {url.rpartition("/")[0] for url in urls} == {"https://[::1]:9443"}
    assert a_run.api.calls[-1] == "DELETE", "it knows its own configuration again"
    assert a_run.started == ["controller", "admission"]


@pytest.mark.parametrize("ended", [False, True], ids=["not ready in time", "ended before"])
async def test_a_run_that_was_never_ready_registers_and_deletes_nothing(
    a_run: ARun, ended: bool
) -> None:
    async def until_ready(_: RunSettings, ending: asyncio.Event) -> None:
        await asyncio.sleep(0)
        if not ended:
            raise NotReady("not ready after 300 s")
        ending.set()

    a_run.readiness = until_ready
    a_run.api.kept = OURS
    with contextlib.nullcontext() if ended else pytest.raises(NotReady, match="not ready after"):
        await a_run.run()
    assert (a_run.api.kept, a_run.api.calls) == (OURS, [])
    assert a_run.started == ["controller", "admission"]


@pytest.mark.parametrize("option", ["controller", "page", "admission", "metrics", "leases"])
async def test_a_port_that_is_taken_is_told_before_anything_starts(
    a_run: ARun, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr("plimsoll_operator.processes.run_claims.FREE_WITHIN_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(NotReady, match=f"port {port} of .* is taken.*--{option}-port"):
            await a_run.run(**{f"{option}_port": port})
    assert (a_run.started, a_run.api.calls) == ([], [])


async def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(a_run: ARun) -> None:
    first = await a_run.registered(admission_port=0)
    certificate, kept = a_run.certificate, a_run.api.kept
    with pytest.raises(NotReady, match="another `plimsoll run` uses the folder"):
        await a_run.run(admission_port=0)
    assert (a_run.certificate, a_run.api.kept) == (certificate, kept)
    assert a_run.ready_file.exists()
    await a_run.end(first)
    assert a_run.started == ["controller", "admission"]
    await a_run.run(admission_port=0)  # the folder is free again


async def test_a_run_that_is_refused_makes_no_certificate(a_run: ARun) -> None:
    """A run of a version that locks no folder may go on there, and its admission would show it."""
    a_run.api.kept = ANOTHER_RUNS
    with pytest.raises(NotReady, match="not of this"):
        await a_run.run()
    assert not (a_run.state / "certificates").exists()
