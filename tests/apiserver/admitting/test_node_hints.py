"""Hints at nodes on the real API server: what it accepts, what it keeps, and a silent feed."""

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

from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.names import labels
from plimsoll_operator.processes.admission import Running
from plimsoll_operator.sizing import node_hint
from plimsoll_predictor.core.policy import Placing
from plimsoll_predictor.core.task import TaskId
from tests.apiserver.controllers import Shop, a_shop, until
from tests.builders.placing.told_nodes import PREFERRED, tell_nodes
from tests.builders.pods import APod, a_pod
from tests.conftest import Cluster
from tests.rigs.servers.admission_servers import a_server, knowledge_of
from tests.rigs.servers.webhook_servers import a_configuration

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

POD = a_pod().asking("2Gi").limited("2Gi").with_spec(schedulerName="nobody")
APART = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "other"}},
        }
    ]
}
ON_LINUX = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
                ]
            }
        ]
    }
}


@dataclass(frozen=True, slots=True)
class Hinting:
    """A namespace whose pods a real admission answers."""

    shop: Shop
    server: Running
    board: FeedBoard

    async def create(self, pod: APod, **metadata: Any) -> dict[str, Any]:
        """The pod as the API server stored it."""
        manifest = pod.in_namespace(self.shop.namespace).built()
        manifest["metadata"].update(metadata)
        answer = await self.shop.core.create_namespaced_pod(
            self.shop.namespace, manifest, _preload_content=False
        )
        text = await answer.text()
        assert answer.status == 201, text
        found: dict[str, Any] = json.loads(text)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hinting(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hinting]:
    """Real admission with a feed of three nodes, until the module ends."""
    folder: Path = tmp_path_factory.mktemp("hints")
    async with AsyncExitStack() as stack:
        shop = await stack.enter_async_context(a_shop(cluster.kubeconfig))
        task = TaskId(shop.namespace, "train")
        known = knowledge_of(task, placing=Placing.ENFORCE)
        _, server, board = await stack.enter_async_context(a_server(folder, known))
        tell_nodes(board, task, busy_1=4, free=0, busy_2=4)
        api = client.AdmissionregistrationV1Api(shop.core.api_client)
        url = f"https://127.0.0.1:{server.port}/size"
        body = a_configuration("plimsoll", url, folder / "tls.crt", shop.namespace)
        await api.create_mutating_webhook_configuration(body)
        stack.push_async_callback(
            api.delete_mutating_webhook_configuration, body["metadata"]["name"]
        )
        made = Hinting(shop, server, board)
        await until("the webhook is asked", lambda: asked(made))
        yield made


async def asked(hinting: Hinting) -> bool:
    try:
        pod = await hinting.create(POD, name=None, generateName="first-")
    except (AssertionError, client.ApiException):
        return False  # a new namespace has no service account for a moment
    return labels.HINT in (pod["metadata"].get("annotations") or {})


def of_nodes(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (pod["spec"].get("affinity") or {}).get("nodeAffinity", {})
    return found


async def test_a_pod_is_stored_with_its_hint_and_its_own_affinity(hinting: Hinting) -> None:
    pod = await hinting.create(
        POD.named("both", None).with_spec(affinity={"podAntiAffinity": APART})
    )
    assert pod["spec"]["affinity"]["podAntiAffinity"] == APART
    terms = of_nodes(pod)[PREFERRED]
    assert [term["weight"] for term in terms] == [60, 40]
    assert terms[0]["preference"]["matchExpressions"][0]["values"] == ["free"]
    assert json.loads(pod["metadata"]["annotations"][labels.HINT])["nodes"] == ["free"]
    assert labels.DECISION in pod["metadata"]["annotations"]


async def test_a_pod_that_says_on_which_nodes_it_belongs_is_stored_as_it_is(
    hinting: Hinting,
) -> None:
    affinity = {"nodeAffinity": ON_LINUX}
    pod = await hinting.create(POD.named("itself", None).with_spec(affinity=affinity))
    assert pod["spec"]["affinity"] == affinity
    assert labels.HINT not in pod["metadata"]["annotations"]


async def test_while_the_feed_is_silent_a_pod_is_admitted_without_a_hint(
    hinting: Hinting, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All that was heard counts as too old, although the feed may be heard while this runs.
    monkeypatch.setattr(node_hint, "MOST_SILENCE_S", -1.0)
    pod = await hinting.create(POD.named("silent", None))
    assert of_nodes(pod) == {}
    assert labels.DECISION in pod["metadata"]["annotations"]
