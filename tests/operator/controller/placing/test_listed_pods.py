"""The controller's own list of pods at its start, from a server that answers as the API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.controller.placing import listed_pods
from plimsoll_operator.controller.placing.first_list import FirstList
from plimsoll_operator.controller.placing.listed_pods import ListedPods
from plimsoll_operator.kube.api_server import ApiServer
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server
from tests.builders.pods import a_pod

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Listing:
    """A list, and the server that it is read from."""

    server: GateServer
    listed: ListedPods

    @property
    def first_list(self) -> FirstList:
        return self.listed.first_list

    def has(self, name: str) -> None:
        self.server.has(a_pod().named(name, uid=f"uid-{name}"))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the first call of a client may take seconds."""
    monkeypatch.setattr(listed_pods, "FIRST_WITHIN_S", 60.0)


@pytest_asyncio.fixture
async def listing() -> AsyncIterator[Listing]:
    async with (
        a_gate_server() as server,
        client.ApiClient(client.Configuration(host=server.url)) as api,
    ):
        yield Listing(server, ListedPods(ApiServer(api), FirstList()))


async def test_without_pods_all_are_seen_at_once(listing: Listing) -> None:
    await listing.listed.begin()
    assert listing.first_list.handled


async def test_all_pods_that_there_were_are_waited_for(listing: Listing) -> None:
    for name in ("a", "b"):
        listing.has(name)
    await listing.listed.begin()
    listing.has("later")
    listing.first_list.see("uid-a", listed=True)
    assert not listing.first_list.handled
    listing.first_list.see("uid-b", listed=True)
    assert listing.first_list.handled


async def test_who_goes_before_the_watch_lists_it_is_waited_for_no_longer(
    listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_pods, "LIST_EVERY_S", 0.01)
    monkeypatch.setattr(listed_pods, "SHARE", 1.0)
    for name in ("a", "b"):
        listing.has(name)
    await listing.listed.begin()
    listing.first_list.see("uid-a", listed=True)
    del listing.server.pods["b"]
    reading = asyncio.create_task(listing.listed.run())
    async with asyncio.timeout(30.0):
        while not listing.first_list.handled:
            await asyncio.sleep(0.005)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize("silent", [False, True])
async def test_a_list_that_cannot_be_read_at_the_start_is_read_once_it_can(
    listing: Listing, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_pods, "FIRST_WITHIN_S", 0.2)
    listing.has("a")
    listing.server.silent, listing.server.lists = silent, False
    await listing.listed.begin()
    listing.first_list.see("uid-a", listed=True)
    assert not listing.first_list.handled
    listing.server.silent, listing.server.lists = False, True
    await listing.listed.look()
    assert listing.first_list.handled
