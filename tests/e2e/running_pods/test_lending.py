"""Running pods on the real node that lend what they do not use, and take it back as they grow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import AGENT, CONTROLLER, Plimsoll
from tests.e2e.seeing import WITHIN_S, create, ended, go_on, memory_of, sizes_in_mode
from tests.e2e.workloads import LONG_S, a_pod
from tests.rigs.images.eater import goes_on
from tests.rigs.processes.log_records import log_records

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

ASKED = "512Mi"
SLOWLY = "5 2 " * 40
FLAT_THEN_SLOWLY = f"steps 64 {LONG_S} {SLOWLY}"
"""Its memory is flat until the test has seen that it lends."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lending(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace whose pods may lend."""
    async with a_shop(cluster.kubeconfig) as made:
        await made.enforce(lending="auto")
        await sizes_in_mode(made, "enforce")
        yield made


async def test_a_flat_pod_lends_and_has_all_again_before_it_uses_more_than_it_kept(
    lending: Shop, plimsoll: Plimsoll
) -> None:
    pod = a_pod("early", FLAT_THEN_SLOWLY, task="early", memory=ASKED)
    uid = (await create(lending, pod)).metadata.uid
    kept = await _lends(lending, "early")
    assert kept < 160 * MIB
    assert memory_of((await lending.pods())["early"])[1] == ASKED
    await go_on(uid)
    await _has_all_again(lending, "early")
    await until("all its steps are taken", lambda: not goes_on(uid), WITHIN_S)
    assert (await ended(lending, "early")).status.phase == "Succeeded"
    back = _said(plimsoll, "takes back", "early")
    assert (back["why"], back["held_bytes"]) == ("grew", kept)
    assert back["used_bytes"] < kept
    found = await until(
        "an observation", lambda: plimsoll.observations(lending.task("early")), WITHIN_S
    )
    # Its observation has its author's request, not the one that it kept.
    assert [(each.outcome, each.request_bytes) for each in found] == [
        (Outcome.SUCCEEDED, 512 * MIB)
    ]
    told = [event.reason for event in await _events(lending, "early")]
    assert told.count("Lent") == told.count("TakenBack") == 1


async def test_a_pod_that_nobody_measures_any_more_has_all_again(
    lending: Shop, plimsoll: Plimsoll
) -> None:
    await create(lending, a_pod("silent", f"steps 64 {LONG_S}", task="silent", memory=ASKED))
    await _lends(lending, "silent")
    with plimsoll.without(AGENT):
        await _has_all_again(lending, "silent")
    assert _said(plimsoll, "takes back", "silent")["why"] == "silent"


async def test_another_controller_knows_what_is_lent_and_takes_it_back(
    lending: Shop, plimsoll: Plimsoll
) -> None:
    pod = a_pod("passed-on", FLAT_THEN_SLOWLY, task="on", memory=ASKED)
    uid = (await create(lending, pod)).metadata.uid
    kept = await _lends(lending, "passed-on")
    await plimsoll.killed(CONTROLLER)
    await go_on(uid)
    await _has_all_again(lending, "passed-on")
    back = _said(plimsoll, "takes back", "passed-on")
    assert back["held_bytes"] == kept
    # It takes back as well if no agent has reached it for a while after its start, as may be on a
    # busy machine. It then may not have heard what the pod uses.
    assert back["why"] in ("grew", "silent")
    assert (back["used_bytes"] or 0) < kept
    # Agents do come to another controller: it lends what it measures.
    await create(lending, a_pod("next", f"steps 64 {LONG_S}", task="next", memory=ASKED))
    await _lends(lending, "next")


async def test_a_pod_of_a_policy_without_a_word_on_lending_keeps_its_request(
    shop: Shop, lending: Shop
) -> None:
    await create(shop, a_pod("kept", f"steps 64 {LONG_S}", task="kept", memory=ASKED))
    await create(lending, a_pod("later", f"steps 64 {LONG_S}", task="later", memory=ASKED))
    # It came later, and now lends.
    await _lends(lending, "later")
    assert memory_of((await shop.pods())["kept"]) == (ASKED, ASKED)


async def _events(shop: Shop, name: str) -> list[Any]:
    # The kubelet's Events of a resize have no eventTime, which the newer kind's client requires.
    found = await shop.core.list_namespaced_event(shop.namespace)
    return [event for event in found.items if event.involved_object.name == name]


async def _lends(shop: Shop, name: str) -> int:
    """Wait until a pod lends; return the request that it has kept, in bytes."""

    async def lowered() -> int:
        pod = (await shop.pods())[name]
        request_bytes = parse_bytes(memory_of(pod)[0])
        return request_bytes if request_bytes < parse_bytes(ASKED) else 0

    kept: int = await until(f"{name} lends", lowered, WITHIN_S)
    note = json.loads((await shop.pods())[name].metadata.annotations[labels.LENT])
    assert note["request"] == ASKED
    return kept


async def _has_all_again(shop: Shop, name: str) -> None:
    async def whole() -> bool:
        pod = (await shop.pods())[name]
        return memory_of(pod) == (ASKED, ASKED) and labels.LENT not in pod.metadata.annotations

    await until(f"{name} has all again", whole, WITHIN_S)


def _said(plimsoll: Plimsoll, what: str, pod: str) -> dict[str, Any]:
    """The controller's last log line of this kind about a pod."""
    records = log_records((plimsoll.state / "controller.log").read_text())
    lines = [(json.dumps(record), record) for record in records]
    return [record for line, record in lines if f'"{what}"' in line and f"/{pod}" in line][-1]
