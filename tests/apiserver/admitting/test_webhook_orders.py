"""Plimsoll and another mutating webhook at the real API server, in both orders of their names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.builders.kubernetes.webhooks import OTHERS, PODS, Hook, admitted, memory, sized_by
from tests.builders.pods import APod
from tests.conftest import Cluster
from tests.rigs.servers.admission_servers import Pair, a_server, knowledge_of
from tests.rigs.servers.webhook_servers import OtherWebhooks, a_configuration, other_webhooks

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

PLACES = ("a-again", "a-once", "z-again", "z-once")
"""Names of the other webhook: before and after Plimsoll's, asked again if needed, or never."""
OURS = "plimsoll"


@dataclass(frozen=True, slots=True)
class Among:
    """A namespace whose pods pass Plimsoll and four other webhooks."""

    shop: Shop
    others: OtherWebhooks

    async def create(self, pod: APod) -> dict[str, Any]:
        """The pod as the API server would create it after all webhooks."""
        manifest = pod.in_namespace(self.shop.namespace).with_spec(schedulerName="nobody").built()
        self.others.asked.clear()
        answer = await self.shop.core.create_namespaced_pod(
            self.shop.namespace, manifest, dry_run="All", _preload_content=False
        )
        text = await answer.text()
        assert answer.status == 201, text
        found: dict[str, Any] = json.loads(text)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def among(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Among]:
    """Real admission, real other webhooks, and their configurations, until the module ends."""
    folder: Path = tmp_path_factory.mktemp("webhooks")
    async with AsyncExitStack() as stack:
        shop = await stack.enter_async_context(a_shop(cluster.kubeconfig))
        known = knowledge_of(TaskId(shop.namespace, "train"))
        server = await stack.enter_async_context(a_server(folder / "plimsoll", known))
        pair = Pair.make(folder / "other")
        others = await stack.enter_async_context(other_webhooks(pair))
        api = client.AdmissionregistrationV1Api(shop.core.api_client)
        named = {OURS: (f"https://127.0.0.1:{server[1].port}/size", folder / "plimsoll/tls.crt")}
        named |= {place: (f"{others.url}/{place}", pair.certificate_file) for place in PLACES}
        for name, (url, certificate) in named.items():
            again = not name.endswith("once")
            body = a_configuration(name, url, certificate, shop.namespace, again=again)
            await api.create_mutating_webhook_configuration(body)
            stack.push_async_callback(
                api.delete_mutating_webhook_configuration, body["metadata"]["name"]
            )
        made = Among(shop, others)
        await until("all webhooks are asked", lambda: asked_for(made))
        yield made


async def asked_for(among: Among) -> bool:
    try:
        pod = await among.create(PODS["equal ones"])
    except AssertionError:
        return False  # a new namespace has no service account for a moment
    return set(among.others.asked) == set(PLACES) and labels.DECISION in note_text(pod)


def note_text(pod: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = pod["metadata"].get("annotations") or {}
    return found


def seen(pod: dict[str, Any]) -> tuple[Any, ...]:
    """The pod after the webhooks: the main container's memory, its class, and the decision."""
    names = [each["name"] for each in pod["spec"]["containers"]]
    note = json.loads(note_text(pod)[labels.DECISION])
    said = tuple(note[key] for key in ("container", "allocation", "mode", "reason", "was"))
    return memory(pod, names.index("main")), said, note_text(pod).get(labels.CONTAINER)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("other", OTHERS)
async def test_the_api_server_does_what_the_table_says(
    among: Among, other: str, place: str
) -> None:
    """The unit tests check the table against the promises."""
    known = knowledge_of(TaskId(among.shop.namespace, "train"))
    ours = Hook(sized_by(AdmissionState(tasks={known.task: known}), among.shop.namespace))
    theirs = Hook(OTHERS[other], again=place.endswith("again"))
    among.others.changes = {place: OTHERS[other]}
    for name, pod in PODS.items():
        hooks = [theirs, ours] if place < OURS else [ours, theirs]
        expected, asked = admitted(pod.in_namespace(among.shop.namespace), hooks)
        request, limit = memory(expected.built(), -1)
        if limit is not None and (request or 0) > limit:
            continue  # without Plimsoll it would be refused, too
        created = await among.create(pod)
        assert seen(created) == seen(expected.built()), name
        assert among.others.asked.count(place) == asked.count(hooks.index(theirs)), name


async def test_what_another_webhook_set_last_is_left_and_said(among: Among) -> None:
    """A policy of fixed sizes that is asked after Plimsoll, and again after its answer."""
    among.others.changes = {"z-again": OTHERS["large sizes for all"]}
    created = await among.create(PODS["a higher limit"])
    note = json.loads(note_text(created)[labels.DECISION])
    assert memory(created) == (4 * GIB, 6 * GIB)
    assert (note["allocation"], note["mode"]) == (None, Mode.RECOMMEND.value)
    assert note["why"] == "another webhook changed its memory after Plimsoll had sized it"
