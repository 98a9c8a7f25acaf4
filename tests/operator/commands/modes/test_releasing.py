"""`plimsoll release`, and the hook that runs it, release all that they can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from weakref import ref

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.commands.modes import release
from plimsoll_operator.kube.api_server import MERGE_PATCH, ApiServer, Object
from plimsoll_operator.kube.errors import ApiError, Expired
from plimsoll_operator.names import labels
from tests.builders.controller.turns import CPU, OTHERS, waits
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server, a_job


@pytest_asyncio.fixture
async def server() -> AsyncIterator[tuple[GateServer, ApiServer]]:
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(a_gate_server())
        api = await stack.enter_async_context(client.ApiClient(client.Configuration(host=made.url)))
        yield made, ApiServer(api)


async def test_all_are_let_go_and_other_gates_stay(server: tuple[GateServer, ApiServer]) -> None:
    gates, api = server
    gates.has(waits("ours"))
    gates.has(waits("both", CPU, OTHERS))
    assert await release.release_pods(api) == 2
    assert gates.held == set()
    assert gates.pods["both"]["spec"]["schedulingGates"] == [OTHERS]
    assert await release.release_pods(api) == 0


async def test_jobs_that_wait_are_resumed_and_others_stay_suspended(
    server: tuple[GateServer, ApiServer],
) -> None:
    gates, api = server
    gates.has(waits("ours"))
    gates.has_job(a_job("waits", labels={labels.WAITS: "true"}, suspend=True))
    gates.has_job(a_job("authors", suspend=True))
    assert await release.release_pods(api) == 2
    assert gates.suspended == {"authors"}
    assert gates.held == set()


class Listed(dict[str, Any]):
    """One page; a plain dict cannot be watched."""


class Backlog(ApiServer):
    """A cluster with many pods of others, each of its lists before these that wait.

    forgets: how often it does not know the rest of a list.
    """

    def __init__(self, others: int, forgets: int = 0) -> None:
        self.others, self.forgets = others, forgets
        self.waiting = {
            "pods": [waits(f"ours-{number}").built() for number in range(50)],
            "jobs": [
                a_job(f"ours-{number}", labels={labels.WAITS: "true"}, suspend=True)
                for number in range(50)
            ],
        }
        self.page_before: Callable[[], Listed | None] = lambda: None
        self.at_once = self.most_at_once = 0

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        assert query is not None
        assert self.page_before() is None, "the page before is still in memory"
        begin, size = int(query.get("continue", "0")), int(query["limit"])
        if begin and self.forgets:
            self.forgets -= 1
            raise Expired("the provided continue parameter is too old")
        waiting = self.waiting[path.rpartition("/")[2]]
        end = min(begin + size, self.others + len(waiting))
        others = [{"metadata": {"name": str(at)}} for at in range(begin, min(end, self.others))]
        ours = waiting[max(0, begin - self.others) : max(0, end - self.others)]
        more = {"continue": str(end)} if end < self.others + len(waiting) else {}
        page = Listed(items=[*others, *ours], metadata=more)
        self.page_before = ref(page)
        return page

    async def patch(
        self, path: str, body: Object | Sequence[Object], content: str = MERGE_PATCH
    ) -> dict[str, Any]:
        assert isinstance(body, Mapping)
        assert content == MERGE_PATCH
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        plural, name = path.split("/")[-2:]
        kept = self.waiting[plural]
        [held] = [each for each in kept if each["metadata"]["name"] == name]
        held["spec"] = {**held["spec"], **body["spec"]}
        self.at_once -= 1
        return {}


async def test_those_behind_any_number_of_others_are_let_go_with_one_page_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    backlog = Backlog(others=20_000)
    assert await release.release_pods(backlog) == 100
    assert 1 < backlog.most_at_once <= release.AT_ONCE
    assert await release.release_pods(backlog) == 0


async def test_a_list_whose_rest_is_forgotten_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    assert await release.release_pods(Backlog(others=1000, forgets=3)) == 100
    with pytest.raises(ApiError, match="continue parameter is too old; run it again"):
        await release.release_pods(Backlog(others=1000, forgets=1000))


@pytest.mark.slow
async def test_one_that_cannot_be_let_go_keeps_no_others_and_is_named(
    server: tuple[GateServer, ApiServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    gates, api = server
    gates.failing.add("lab")
    gates.has(waits("first").in_namespace("lab"))
    gates.has(waits("ours"))
    with pytest.raises(ApiError, match=r"lab/first: .*failed calling webhook"):
        await release.release_pods(api)
    assert gates.held == {"first"}


def a_webhook(name: str, *webhooks: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "webhooks": [{"name": each} for each in webhooks]}


@pytest.mark.parametrize("webhooks", [("sidecar.istio.io",), ("notplimsoll.dev",), ()])
async def test_a_webhook_configuration_of_others_stays_and_nothing_is_released(
    server: tuple[GateServer, ApiServer], webhooks: tuple[str, ...]
) -> None:
    gates, api = server
    gates.has(waits("ours"))
    gates.webhooks["injector"] = a_webhook("injector", *webhooks)
    with pytest.raises(ApiError, match="webhook configuration injector is not Plimsoll's"):
        await release.release_all(api, "injector", 0.0, Admission(gates, []).pause)
    assert (set(gates.webhooks), gates.held) == ({"injector"}, {"ours"})


async def test_it_says_whether_it_deleted_the_webhook_configuration(
    server: tuple[GateServer, ApiServer], capsys: pytest.CaptureFixture[str]
) -> None:
    gates, api = server
    gates.webhooks["plimsoll"] = a_webhook("plimsoll", "size.plimsoll.dev", "job.plimsoll.dev")
    pause = Admission(gates, []).pause
    await release.release_all(api, "plimsoll", 0.0, pause)
    assert gates.webhooks == {}
    assert capsys.readouterr().out == "deleted webhook configuration plimsoll\n"
    await release.release_all(api, "plimsol", 0.0, pause)
    assert capsys.readouterr().out == "there is no webhook configuration plimsol\n"


@dataclass
class Admission:
    """An old replica that still suspends Jobs, at seconds of a clock that pauses advance."""

    gates: GateServer
    suspends_at_s: list[float]
    now_s: float = 0.0

    async def pause(self, for_s: float) -> None:
        self.now_s += for_s
        while self.suspends_at_s and self.suspends_at_s[0] < self.now_s:
            name = f"at-{self.suspends_at_s.pop(0):.0f}"
            self.gates.has_job(a_job(name, labels={labels.WAITS: "true"}, suspend=True))


@pytest.mark.parametrize(
    ("webhook", "quiet_for_s", "suspends_at_s", "released", "until_s"),
    [
        pytest.param(None, 0.0, [], 1, 0.0, id="one look, unless more is asked for"),
        pytest.param(None, 30.0, [], 1, 30.0, id="nobody is found for so long"),
        pytest.param(None, 30.0, [14.0], 2, 45.0, id="found at 15 s, and the time begins anew"),
        pytest.param(None, 30.0, [14.0, 44.0], 3, 75.0, id="at the last look as well"),
        pytest.param(None, 30.0, [46.0], 1, 30.0, id="not for longer"),
        pytest.param(None, 7.0, [6.0], 2, 14.0, id="the last pause is the rest"),
        pytest.param("plimsoll", 0.0, [], 1, 5.0, id="a webhook is asked a little longer"),
        pytest.param("plimsoll", 0.0, [4.0], 2, 10.0, id="and may suspend one then"),
        pytest.param("plimsoll", 30.0, [], 1, 30.0, id="the longer time counts"),
    ],
)
async def test_it_goes_on_until_nobody_was_found_for_so_long(
    server: tuple[GateServer, ApiServer],
    monkeypatch: pytest.MonkeyPatch,
    *,
    webhook: str | None,
    quiet_for_s: float,
    suspends_at_s: list[float],
    released: int,
    until_s: float,
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    gates, api = server
    gates.has(waits("ours"))
    admission = Admission(gates, [*suspends_at_s])
    assert await release.release_all(api, webhook, quiet_for_s, admission.pause) == released
    assert admission.now_s == until_s
    assert gates.suspended == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("webhook", "words"),
    [
        (None, "remove `order: enforce` from every SizingPolicy and TaskProfile"),
        ("mine", "another webhook than mine; delete"),
    ],
)
async def test_it_gives_up_where_others_are_held_again_and_again(
    server: tuple[GateServer, ApiServer],
    monkeypatch: pytest.MonkeyPatch,
    webhook: str | None,
    words: str,
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    gates, api = server
    admission = Admission(gates, [float(at) for at in range(1000)])
    with pytest.raises(ApiError, match=words):
        await release.release_all(api, webhook, 30.0, admission.pause)
