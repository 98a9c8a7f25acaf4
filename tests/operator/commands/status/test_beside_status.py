"""`plimsoll status` beside `plimsoll run`, whose webhook outlives it; and a pause that is none."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from plimsoll_operator.commands.reaching import outside
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.outside import Admission, admission_outside, answers
from plimsoll_operator.commands.status.checks import Level
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import ClusterState, Outside
from plimsoll_operator.commands.status.summary import Summary, summary_of
from plimsoll_operator.commands.status.tables import status_tables
from plimsoll_operator.credentials.issuing import Pair, issue
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.processes.run_webhook import webhook_configuration, write_pair
from tests.builders.kubernetes.cluster_status import (
    NOW_S,
    a_bundle,
    a_condition,
    a_webhook,
    what_is_seen,
)
from tests.rigs.servers.api_servers import an_api_server
from tests.rigs.servers.ports import free_port
from tests.rigs.servers.serving import serving

ADDRESS = "https://127.0.0.1:9443"


def told_of(answered: bool | None, **changes: Any) -> Summary:
    url = {"caBundle": a_bundle(), "url": f"{ADDRESS}/unlabelled"}
    seen = what_is_seen(
        deployments=[],
        webhooks=[a_webhook(clientConfig=url)],
        outside=Outside(ADDRESS, answered),
        **changes,
    )
    return summary_of(seen, NOW_S)


def text_of(told: Summary) -> str:
    console = Console(width=300, record=True, file=StringIO())
    console.print(status_tables(told, 40))
    return console.export_text()


@pytest.mark.parametrize(
    ("answered", "healthy", "words"),
    [
        pytest.param(True, True, f"as by `plimsoll run`, at {ADDRESS}", id="it runs"),
        pytest.param(False, False, f"does not answer at {ADDRESS}", id="it is gone"),
        pytest.param(None, None, "cannot be asked from here", id="nobody can know"),
    ],
)
def test_plimsoll_run_is_healthy_while_something_answers_at_its_address(
    answered: bool | None, healthy: bool | None, words: str
) -> None:
    told = told_of(answered)
    assert told.healthy is healthy
    text = text_of(told)
    assert words in text
    assert "/unlabelled" not in text, "the path is one webhook's, not the process's"
    assert "Plimsoll in plimsoll" not in text


def test_a_broken_webhook_of_an_address_that_cannot_be_reached_is_not_healthy() -> None:
    broken = a_webhook(clientConfig={"caBundle": "AAAA", "url": f"{ADDRESS}/size"})
    seen = what_is_seen(deployments=[], webhooks=[broken], outside=Outside(ADDRESS, answers=None))
    assert summary_of(seen, NOW_S).healthy is False


async def read_beside(port: int, authority: bytes, installed_in: str | None = None) -> ClusterState:
    """A cluster with nothing but the webhook of a `plimsoll run` at this port."""
    configuration = webhook_configuration(f"https://127.0.0.1:{port}", authority)

    async def answer(request: web.Request) -> web.Response:
        if request.path == f"{WEBHOOKS}/plimsoll":
            return web.json_response(configuration)
        if request.path == "/version":
            return web.json_response({})
        return web.json_response({"items": []})

    async with an_api_server(answer) as objects:
        reader = ClusterReader(objects, Installation(installed_in=installed_in), None)
        return await reader.read()


@pytest.fixture(scope="module")
def ours() -> Pair:
    """The certificate of a `plimsoll run`, and its authority."""
    return issue(["127.0.0.1", "localhost"], datetime.now(UTC), timedelta(days=1))


@asynccontextmanager
async def listening(folder: Path, pair: Pair | None) -> AsyncIterator[int]:
    """A program that listens at a port: with this certificate, or without TLS."""
    context = None
    if pair is not None:
        write_pair(folder, pair)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    async with serving(web.Application(), tls=context) as url:
        yield int(url.rpartition(":")[2])


async def test_beside_a_cluster_its_namespace_is_known_and_its_address_is_asked(
    tmp_path: Path, ours: Pair
) -> None:
    async with listening(tmp_path, ours) as port:
        seen = await read_beside(port, ours.authority)
    assert seen.outside == Outside(f"https://127.0.0.1:{port}", answers=True)
    assert (seen.installed_in, seen.unseen) == ("plimsoll", ())


@pytest.mark.parametrize("speaks_tls", [True, False])
async def test_another_program_at_its_address_is_not_plimsoll(
    tmp_path: Path, ours: Pair, speaks_tls: bool
) -> None:
    """Such as that of another cluster on the same machine, at the same port."""
    another = issue(["127.0.0.1"], datetime.now(UTC), timedelta(days=1))
    async with listening(tmp_path, another if speaks_tls else None) as port:
        seen = await read_beside(port, ours.authority)
    assert seen.outside == Outside(f"https://127.0.0.1:{port}", answers=False)


async def test_an_address_that_refuses_connections_is_seen_as_such(ours: Pair) -> None:
    port = free_port()
    seen = await read_beside(port, ours.authority)
    assert seen.outside == Outside(f"https://127.0.0.1:{port}", answers=False)


HERE = "https://127.0.0.1:6443"


@pytest.mark.parametrize(
    ("api_server", "known"),
    [
        pytest.param(HERE, False, id="the same machine"),
        pytest.param("https://localhost:6443", False, id="the same, by name"),
        pytest.param("https://[::1]:6443", False, id="the same, by IPv6"),
        pytest.param("https://10.0.0.5:6443", None, id="another machine"),
        pytest.param("https://api.example.org", None, id="another, by name"),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_an_address_that_each_machine_has_for_itself_tells_of_this_one_alone(
    ours: Pair, api_server: str, known: bool | None, host: str
) -> None:
    """`plimsoll run` on a server listens there: its users' own machines have nothing there."""
    admission = Admission(f"https://{host}:{free_port()}", ours.authority.decode())
    assert await answers(admission, api_server) is known


async def test_who_has_the_certificate_is_admission_however_the_api_server_is_called(
    tmp_path: Path, ours: Pair
) -> None:
    """A kubeconfig may name its own machine by another address."""
    async with listening(tmp_path, ours) as port:
        admission = Admission(f"https://127.0.0.1:{port}", ours.authority.decode())
        assert await answers(admission, "https://192.168.1.10:6443") is True


@pytest.mark.parametrize("error", [OSError("no way there"), None])
async def test_an_address_that_cannot_be_reached_says_nothing(
    monkeypatch: pytest.MonkeyPatch, ours: Pair, error: OSError | None
) -> None:
    async def connect(*_: object, **__: object) -> object:
        if error is not None:
            raise error
        return await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "open_connection", connect)
    monkeypatch.setattr(outside, "ANSWERS_WITHIN_S", 0.1)
    assert await answers(Admission(ADDRESS, ours.authority.decode()), HERE) is None


@pytest.mark.parametrize(
    ("address", "authority"),
    [
        pytest.param("https://127.0.0.1:port", None, id="no number of a port"),
        pytest.param("https://nobody.invalid:9443", None, id="no such host"),
        pytest.param(ADDRESS, "", id="no authority"),
        pytest.param(ADDRESS, "no certificate", id="an authority that is none"),
    ],
)
async def test_what_cannot_be_asked_says_nothing(
    ours: Pair, address: str, authority: str | None
) -> None:
    trusted = ours.authority.decode() if authority is None else authority
    assert await answers(Admission(address, trusted), HERE) is None


@pytest.mark.parametrize("bundle", [None, "AAA", 7, "/////w=="])
def test_a_bundle_that_is_no_text_counts_as_none(bundle: object) -> None:
    hook = a_webhook(clientConfig={"caBundle": bundle, "url": f"{ADDRESS}/size"})
    assert admission_outside([hook]) == Admission(ADDRESS, "")


def a_pause(namespace: str, *conditions: Any) -> Any:
    return {
        "metadata": {"name": "cluster", "namespace": namespace},
        "spec": {"paused": True},
        "status": {"conditions": list(conditions)},
    }


def test_a_pause_that_the_controller_ignores_is_not_said_to_hold() -> None:
    ignored = a_condition("InForce", "False", "NotNamedDefault", "ignored: only in plimsoll")
    told = told_of(True, installed_in="live", policies=[a_pause("live", ignored)])
    [check] = [each for each in told.checks if each.name == "sizing"]
    assert check.level is Level.WARNING
    assert check.words == "not paused: the pause in live/cluster is ignored: only in plimsoll"


def test_a_pause_in_force_is_said_to_hold() -> None:
    in_force = a_condition("InForce", "True", "Paused")
    told = told_of(True, policies=[a_pause("plimsoll", in_force)])
    [check] = [each for each in told.checks if each.name == "sizing"]
    assert "paused on the whole cluster" in check.words
