"""``plimsoll run`` beside another Plimsoll: it replaces and deletes nothing that others made."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.processes import run, run_claims
from plimsoll_operator.processes.run import RunSettings
from plimsoll_operator.processes.run_claims import NotReady
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


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Webhooks]:
    async with served_webhooks() as webhooks:
        yield webhooks


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the children that were started, which do nothing."""
    names: list[str] = []

    async def keep(command: Any) -> None:
        names.append(command.name)
        await asyncio.Event().wait()

    monkeypatch.setattr(run, "keep_running", keep)
    return names


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """What SIGTERM sets."""
    event = asyncio.Event()
    monkeypatch.setattr(run, "when_terminated", lambda: event)
    return event


def becomes_ready(
    monkeypatch: pytest.MonkeyPatch,
    error: Exception | None = None,
    ended: asyncio.Event | None = None,
) -> None:
    """The children are ready at once, or fail to be, or the end comes while they get ready."""

    async def until_ready(*_: object) -> None:
        await asyncio.sleep(0)
        if ended is not None:
            ended.set()
        if error is not None:
            raise error

    monkeypatch.setattr(run, "_until_ready", until_ready)


def settings(api: Webhooks, folder: Path, **changes: Any) -> RunSettings:
    path = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": api.url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    document = {"clusters": [cluster], "contexts": [context], "current-context": "c"}
    path.write_text(json.dumps({**document, "users": [{"name": "u", "user": {}}]}))
    # Port 0 is any: the children are not started here.
    ports = dict.fromkeys(("controller_port", "page_port", "metrics_port", "leases_port"), 0)
    asked = {"state_dir": folder / "state", "kubeconfig": str(path), **ports, **changes}
    return RunSettings(**asked)


async def is_registered(api: Webhooks, folder: Path) -> None:
    async with asyncio.timeout(30):
        while not (folder / "state" / "ready.json").exists():
            await asyncio.sleep(0.01)


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
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
    theirs: Any,
    where: str,
) -> None:
    becomes_ready(monkeypatch)
    api.kept = theirs
    with pytest.raises(NotReady, match="not of this `plimsoll run`") as refused:
        await run._run(settings(api, tmp_path))
    assert where in str(refused.value)
    assert (api.kept, api.calls, started) == (theirs, [], [])


async def test_one_that_appears_while_it_starts_is_neither_changed_nor_deleted(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    async def until_ready(*_: object) -> None:
        await asyncio.sleep(0)
        api.kept = CHARTS

    monkeypatch.setattr(run, "_until_ready", until_ready)
    with pytest.raises(NotReady, match="not of this `plimsoll run`"):
        await run._run(settings(api, tmp_path))
    assert (api.kept, api.calls) == (CHARTS, ["POST"])
    assert started == ["controller", "admission"]
    assert not ending.is_set()


@pytest.mark.parametrize("left_behind", [None, OURS], ids=["the first", "after a kill"])
async def test_its_own_configuration_is_made_or_taken_over_and_deleted_at_the_end(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
    left_behind: Any,
) -> None:
    becomes_ready(monkeypatch)
    api.kept = left_behind
    running = asyncio.create_task(run._run(settings(api, tmp_path)))
    await is_registered(api, tmp_path)
    assert api.kept["webhooks"] != OURS["webhooks"], "it trusts the new certificate"
    assert started == ["controller", "admission"]
    ending.set()
    await running
    assert api.kept is None


async def test_what_somebody_put_in_its_place_meanwhile_is_not_deleted(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    becomes_ready(monkeypatch)
    running = asyncio.create_task(run._run(settings(api, tmp_path)))
    await is_registered(api, tmp_path)
    api.kept = CHARTS
    ending.set()
    await running
    assert api.kept == CHARTS
    assert started == ["controller", "admission"]


async def test_it_ends_and_ends_its_children_though_the_api_server_hangs(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    becomes_ready(monkeypatch)
    monkeypatch.setattr(run_claims, "REMOVED_WITHIN_S", 0.1)
    running = asyncio.create_task(run._run(settings(api, tmp_path)))
    await is_registered(api, tmp_path)
    api.answers.clear()
    ending.set()
    await asyncio.wait([running], timeout=30)
    assert running.done(), "it waits for the API server"
    await running
    assert started == ["controller", "admission"]
    assert not (tmp_path / "state" / "ready.json").exists()
    assert api.kept is not None, "the next run here takes it over"


async def test_a_start_against_an_api_server_that_hangs_fails_and_says_why(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    becomes_ready(monkeypatch)
    monkeypatch.setattr(run, "ANSWER_WITHIN_S", 0.1)
    api.answers.clear()
    running = asyncio.create_task(run._run(settings(api, tmp_path)))
    await asyncio.wait([running], timeout=30)
    assert running.done(), "it waits for the API server"
    with pytest.raises(Unreachable, match="does not answer"):
        await running
    assert started == []
    assert not ending.is_set()


@pytest.mark.parametrize("registers", [False, True], ids=["at its first question", "registering"])
async def test_a_start_against_an_api_server_that_hangs_is_ended(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
    registers: bool,
) -> None:
    monkeypatch.setattr("plimsoll_operator.processes.run_claims.REMOVED_WITHIN_S", 0.1)
    monkeypatch.setattr(run, "ANSWER_WITHIN_S", 3600.0)

    async def until_ready(*_: object) -> None:
        api.answers.clear()
        asyncio.get_running_loop().call_later(0.2, ending.set)

    monkeypatch.setattr(run, "_until_ready", until_ready)
    if not registers:
        await until_ready()
    running = asyncio.create_task(run._run(settings(api, tmp_path)))
    await asyncio.wait([running], timeout=60)
    assert running.done(), "it waits for the API server"
    await running
    assert started == (["controller", "admission"] if registers else [])


async def test_what_is_being_registered_when_the_end_comes_is_removed(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    """The API server carries out what it was asked for, whether anybody waits for its answer."""
    becomes_ready(monkeypatch)
    create = ApiServer.create

    async def ended_meanwhile(self: ApiServer, *asked: Any) -> Any:
        ending.set()
        for _ in range(3):
            await asyncio.sleep(0)
        return await create(self, *asked)

    monkeypatch.setattr(ApiServer, "create", ended_meanwhile)
    await run._run(settings(api, tmp_path))
    assert (api.kept, api.calls[-2:]) == (None, ["POST", "DELETE"])
    assert started == ["controller", "admission"]


async def test_an_address_of_ipv6_is_written_in_brackets_into_each_url(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    pages = []

    async def answers(_: object, page: str) -> bool:
        await asyncio.sleep(0)
        pages.append(page)
        return True

    monkeypatch.setattr(run, "_answers", answers)
    asked = settings(api, tmp_path, host="::1", metrics_port=9090)
    monkeypatch.setattr(run, "check_free", lambda _: asyncio.sleep(0))
    running = asyncio.create_task(run._run(asked))
    await is_registered(api, tmp_path)
    assert api.kept is not None
    urls = {each["clientConfig"]["url"] for each in api.kept["webhooks"]}
    ending.set()
    await running
    assert "http://[::1]:9090/readyz" in pages
    assert {url.rpartition("/")[0] for url in urls} == {"https://[::1]:9443"}
    assert api.calls[-1] == "DELETE", "it knows its own configuration again"
    assert started == ["controller", "admission"]


@pytest.mark.parametrize("ended", [False, True], ids=["not ready in time", "ended before"])
async def test_a_run_that_was_never_ready_registers_and_deletes_nothing(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
    ended: bool,
) -> None:
    error = None if ended else NotReady("not ready after 300 s")
    becomes_ready(monkeypatch, error, ending if ended else None)
    api.kept = OURS
    with contextlib.nullcontext() if ended else pytest.raises(NotReady, match="not ready after"):
        await run._run(settings(api, tmp_path))
    assert (api.kept, api.calls) == (OURS, [])
    assert started == ["controller", "admission"]


@pytest.mark.parametrize("option", ["controller", "page", "admission", "metrics", "leases"])
async def test_a_port_that_is_taken_is_told_before_anything_starts(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
    option: str,
) -> None:
    becomes_ready(monkeypatch)
    monkeypatch.setattr("plimsoll_operator.processes.run_claims.FREE_WITHIN_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(NotReady, match=f"port {port} of .* is taken.*--{option}-port"):
            await run._run(settings(api, tmp_path, **{f"{option}_port": port}))
    assert (started, api.calls) == ([], [])


async def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(
    api: Webhooks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    started: list[str],
    ending: asyncio.Event,
) -> None:
    becomes_ready(monkeypatch)
    asked = settings(api, tmp_path, admission_port=0)
    first = asyncio.create_task(run._run(asked))
    await is_registered(api, tmp_path)
    certificate, kept = _certificate_in(asked), api.kept
    with pytest.raises(NotReady, match="another `plimsoll run` uses the folder"):
        await run._run(asked)
    assert (_certificate_in(asked), api.kept) == (certificate, kept)
    assert (asked.state_dir / "ready.json").exists()
    ending.set()
    await first
    assert started == ["controller", "admission"]
    await run._run(asked)  # the folder is free again


async def test_a_run_that_is_refused_makes_no_certificate(
    api: Webhooks, tmp_path: Path, started: list[str], ending: asyncio.Event
) -> None:
    """A run of a version that locks no folder may go on there, and its admission would show it."""
    api.kept = ANOTHER_RUNS
    with pytest.raises(NotReady, match="not of this"):
        await run._run(settings(api, tmp_path))
    assert not (tmp_path / "state" / "certificates").exists()


def _certificate_in(asked: RunSettings) -> bytes:
    return (asked.state_dir / "certificates" / "tls.crt").read_bytes()
