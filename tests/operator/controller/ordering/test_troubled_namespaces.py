"""A namespace in which pods cannot be let go keeps no others waiting, and people are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering import releases
from plimsoll_operator.controller.ordering.releases import REFUSED_FOR_S
from plimsoll_operator.controller.ordering.troubled_namespaces import (
    FIRST_PAUSE_S,
    FORBIDDEN_FOR_S,
    LONGEST_PAUSE_S,
    MOST_IN_A_ROW,
    SLOW_FOR_S,
    SLOW_S,
    TroubledNamespaces,
)
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_operator.ordering.queue import MOST_TURNS
from tests.builders.controller.turns import CPU, WAIT, Queueing, a_queue, runs, waits


@pytest_asyncio.fixture
async def queueing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Queueing]:
    monkeypatch.setattr(releases, "UNREACHABLE_PAUSE_S", 0.0)
    async with a_queue() as made:
        yield made


async def test_a_namespace_whose_webhook_is_down_keeps_no_others_waiting(
    queueing: Queueing,
) -> None:
    queueing.server.failing.add("lab")
    for number in range(2):
        queueing.see(waits(f"lab-{number}").in_namespace("lab"), created=number)
    queueing.see(waits("cpu-0"), created=5)
    await queueing.look()
    assert queueing.server.held == {"lab-0", "lab-1"}
    queueing.server.failing.clear()
    await queueing.look(FIRST_PAUSE_S)
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_a_namespace_whose_webhook_hangs_keeps_no_others_waiting(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "SLOW_S", 0.5)
    queueing.server.delayed_s["lab"] = 60.0
    for number in range(20):
        queueing.see(waits(f"lab-{number}").in_namespace("lab"), created=number)
    queueing.see(waits("cpu-0"), created=30)
    async with asyncio.timeout(10.0):
        await queueing.look()
    assert "cpu-0" not in queueing.server.held
    assert len(queueing.server.held) == 20
    queueing.see(waits("cpu-1"), created=31)
    async with asyncio.timeout(10.0):
        await queueing.look()
    assert "cpu-1" not in queueing.server.held, "also while those calls are in flight"
    queueing.releases._work.stop()


@pytest.mark.slow
async def test_where_releases_are_slow_nobody_waits_for_a_turn(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another, three hundred pods would take longer than anybody may be held."""
    patch = ApiServer.patch

    async def slowly(api: ApiServer, path: str, body: Any) -> dict[str, Any]:
        if "/lab/" in path:
            queueing.clock[0] += SLOW_S + 1.0
        return await patch(api, path, body)

    monkeypatch.setattr(ApiServer, "patch", slowly)
    queueing.policies.set_namespace_spec("lab", {"order": "enforce"})
    lab = {f"lab-{number}" for number in range(3)}
    for number, name in enumerate(sorted(lab)):
        queueing.see(waits(name).in_namespace("lab"), created=number)
    for number in range(2):
        queueing.see(waits(f"large-{number}", cpu="2"), created=9)
    await queueing.look()
    await queueing.look()
    assert not lab & queueing.server.held, "though there is room for two"
    assert queueing.server.held == {"large-0", "large-1"}
    queueing.releases.ordered.tasks = frozenset({str(CPU), "lab/cpu"})
    await queueing.look()
    assert queueing.ordered == {str(CPU)}
    queueing.releases.ordered.tasks = frozenset({str(CPU), "lab/cpu"})
    queueing.clock[0] += SLOW_FOR_S
    queueing.releases._renewed_s = queueing.clock[0]
    await queueing.look()
    assert queueing.ordered == {str(CPU), "lab/cpu"}


async def test_after_some_seconds_of_releases_all_else_is_looked_at(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = ApiServer.patch

    async def takes_time(api: ApiServer, path: str, body: Any) -> dict[str, Any]:
        queueing.clock[0] += releases.LOOK_WITHIN_S / 4 + 0.1
        return await patch(api, path, body)

    monkeypatch.setattr(ApiServer, "patch", takes_time)
    for number in range(MOST_TURNS + 5):
        queueing.see(waits(f"cpu-{number}", cpu="10m"), created=number)
    await queueing.look()
    assert len(queueing.server.held) == 5


@pytest.mark.slow
async def test_however_many_such_namespaces_there_are_others_have_their_turn(
    queueing: Queueing,
) -> None:
    for name, node, task in (("computes", "node-1", CPU), ("waiting", "node-2", WAIT)):
        # An empty node goes to the first of the queue.
        queueing.see(runs(name, node, task).with_status(phase="Succeeded"))
    many = 2 * MOST_IN_A_ROW
    for number in range(many):
        queueing.server.failing.add(f"lab{number}")
        queueing.policies.set_namespace_spec(f"lab{number}", {"order": "enforce"})
        queueing.see(waits(f"lab-{number}").in_namespace(f"lab{number}"), created=number)
    queueing.see(waits("cpu-0"), created=30)
    for _ in range(3):
        await queueing.look(2.0)
    assert "cpu-0" not in queueing.server.held
    assert len(queueing.server.held) == many


def test_a_namespace_rests_for_longer_while_others_are_answered() -> None:
    namespaces, now_s, rests_s = TroubledNamespaces(), 0.0, []
    for _ in range(4):
        namespaces.was_not_answered("lab", now_s)
        began_s = now_s
        namespaces.was_answered(now_s)
        while namespaces.rests("lab", now_s):
            now_s += 1.0
        rests_s.append(now_s - began_s)
    assert rests_s == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S, LONGEST_PAUSE_S]
    namespaces.has_released("lab")
    assert not namespaces.rests("lab", now_s)


def test_an_api_server_that_is_away_is_asked_again_soon() -> None:
    namespaces = TroubledNamespaces()
    for number in range(10):
        now_s = number * FIRST_PAUSE_S
        assert not namespaces.rests("lab", now_s)
        namespaces.was_not_answered("lab", now_s)


def test_only_many_in_a_row_show_that_nobody_answers() -> None:
    namespaces = TroubledNamespaces()
    seem_away = []
    for number in range(3 * MOST_IN_A_ROW):
        if number == MOST_IN_A_ROW - 1:
            namespaces.was_answered(1.0)
        seem_away.append(namespaces.was_not_answered(f"lab{number}", 1.0))
    first = 2 * MOST_IN_A_ROW - 2
    assert [at for at, away in enumerate(seem_away) if away] == [first, first + MOST_IN_A_ROW]


async def test_who_may_not_be_let_go_is_told_why_and_what_helps(queueing: Queueing) -> None:
    queueing.server.gates_refused = True
    queueing.see(waits("cpu-0"))
    queueing.has_job("job-0", created=1)
    await queueing.look(2.0)
    assert ("NotReleased", "cpu-0") in queueing.told
    assert ("NotReleased", "Job job-0") in queueing.told


@pytest.mark.slow
async def test_where_a_rule_keeps_gates_nobody_waits_until_one_was_removed(
    queueing: Queueing,
) -> None:
    queueing.policies.set_namespace_spec("lab", {"order": "enforce"})
    queueing.server.keeping.add("shop")
    queueing.releases.ordered.tasks = frozenset({str(CPU), "lab/cpu"})
    queueing.see(waits("cpu-0"))
    await queueing.look()
    await queueing.look(REFUSED_FOR_S - 1.0)
    queueing.releases.ordered.tasks = frozenset({str(CPU), "lab/cpu"})
    assert queueing.server.held == {"cpu-0"}
    assert queueing.ordered == set(), "it may concern all namespaces"
    await queueing.look(1.0)
    queueing.releases.ordered.tasks = frozenset({str(CPU), "lab/cpu"})
    await queueing.look(1.0)
    assert queueing.ordered == {"lab/cpu"}
    queueing.server.keeping.clear()
    await queueing.look(REFUSED_FOR_S)
    assert queueing.server.held == set()
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}


@pytest.mark.parametrize("trouble", ["keeping", "failing"])
async def test_one_that_cannot_be_released_lets_none_of_a_higher_priority_go(
    queueing: Queueing, trouble: str
) -> None:
    for name, node in (("computes", "node-1"), ("waiting", "node-2")):
        queueing.see(runs(name, node).with_spec(priority=9))
    getattr(queueing.server, trouble).add("lab")
    low = waits("low", cpu="2").in_namespace("lab").with_spec(priority=1)
    queueing.see(low)  # no policy orders its task: it is released at once
    await queueing.look()
    high = waits("high", cpu="2").with_spec(priority=9)
    queueing.see(high, created=1)
    for _ in range(3):
        await queueing.look(REFUSED_FOR_S)
    assert queueing.server.held == {"low", "high"}


async def test_a_call_with_unknown_credentials_is_no_rule_that_keeps_gates(
    queueing: Queueing,
) -> None:
    queueing.see(waits("cpu-0"))
    queueing.server.broken = 401
    await queueing.look()
    queueing.server.broken = None
    assert ("NotReleased", "cpu-0") not in queueing.told
    await queueing.look(FIRST_PAUSE_S)
    assert queueing.server.held == set()
    assert queueing.ordered == {str(CPU), str(WAIT)}


async def test_if_the_api_server_knows_nobody_the_queue_is_looked_at_again(
    queueing: Queueing,
) -> None:
    names = [f"lab{number}" for number in range(MOST_IN_A_ROW)]
    for name in names:
        queueing.see(waits(name).in_namespace(name))
    queueing.server.broken = 401
    await queueing.look()
    queueing.server.broken = None
    await queueing.look(FIRST_PAUSE_S)
    assert queueing.server.held == set()


def test_a_namespace_is_tried_again_though_nobody_waits_there() -> None:
    namespaces = TroubledNamespaces()
    assert namespaces.was_refused("lab", 0.0)
    assert not namespaces.was_refused("lab", MOST_WAIT_S)
    assert namespaces.forbids("lab", MOST_WAIT_S + FORBIDDEN_FOR_S - 1.0)
    assert not namespaces.forbids("lab", MOST_WAIT_S + FORBIDDEN_FOR_S)
    assert not namespaces.forbids("shop", 0.0)
