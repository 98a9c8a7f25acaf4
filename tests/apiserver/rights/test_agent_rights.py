"""Rights of an agent that raises pods itself, by the chart's policy, on the real API server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.kube.api_server import CORE, STRATEGIC_PATCH, ApiServer, path_of
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.rigs.node.agent_accounts import AgentAccount, an_agent_account

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio]

SIZED = {labels.DECISION: "{}"}


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Two nodes without kubelets."""
    names = f"node-{uuid.uuid4().hex[:8]}", f"node-{uuid.uuid4().hex[:8]}"
    for name in names:
        cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    yield names
    cluster.kubectl("delete", "node", *names)


@pytest.fixture(scope="module")
def account(cluster: Cluster) -> Iterator[AgentAccount]:
    with an_agent_account(cluster) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with a token of its own, and pods that run on two nodes."""

    shop: Shop
    api: ApiServer

    async def resizes(
        self, name: str, request: str, limit: str, container: str = "main", **more: str
    ) -> str:
        """Return why it is refused; empty if it is done."""
        memory = {"requests": {"memory": request, **more}, "limits": {"memory": limit}}
        body = {"spec": {"containers": [{"name": container, "resources": memory}]}}
        return await self.patches(body, name, "resize")

    async def patches(self, body: dict[str, Any], name: str, *below: str) -> str:
        path = path_of(CORE, "pods", self.shop.namespace, name, *below)
        try:
            await self.api.patch(path, body, STRATEGIC_PATCH)
        except ApiError as error:
            return str(error)
        return ""


@pytest_asyncio.fixture
async def agent_with(shop: Shop) -> AsyncIterator[Callable[[str], Agent]]:
    opened = []

    def made(token: str) -> Agent:
        own = shop.core.api_client.configuration
        settings = client.Configuration(host=own.host)
        settings.ssl_ca_cert = own.ssl_ca_cert
        settings.api_key = {"BearerToken": f"Bearer {token}"}
        opened.append(client.ApiClient(settings))
        return Agent(shop, ApiServer(opened[-1]))

    yield made
    for api in opened:
        await api.close()


async def running(shop: Shop, name: str, node: str, **meta: Any) -> None:
    """A pod that runs there, as far as the API server knows."""
    main = {"requests": {"memory": "128Mi", "cpu": "100m"}, "limits": {"memory": "256Mi"}}
    body = {
        "metadata": {"name": name, "annotations": SIZED, **meta},
        "spec": {
            "nodeName": node,
            "containers": [
                {"name": "main", "image": "localhost/none:1", "resources": main},
                {"name": "free", "image": "localhost/none:1"},
            ],
        },
    }
    await shop.core.create_namespaced_pod(shop.namespace, body)
    if not name.startswith("waiting"):
        await shop.core.patch_namespaced_pod_status(
            name,
            shop.namespace,
            {"status": {"phase": "Running"}},
            _content_type="application/merge-patch+json",
        )


@pytest_asyncio.fixture
async def agent(
    shop: Shop,
    account: AgentAccount,
    nodes: tuple[str, str],
    agent_with: Callable[[str], Agent],
) -> Agent:
    """The agent of the first node."""
    here, elsewhere = nodes
    for name in ("mine", "waiting"):
        await running(shop, name, here)
    await running(shop, "unsized", here, annotations={})
    await running(shop, "elsewhere", elsewhere)
    made = agent_with(account.token(here))

    async def guarded() -> bool:
        return "its own node" in await made.resizes("elsewhere", "129Mi", "256Mi")

    await until("the API server knows the policy", guarded)
    return made


async def test_an_agent_raises_memory_of_running_sized_pods_of_its_node_alone(
    agent: Agent,
) -> None:
    assert await agent.resizes("mine", "160Mi", "288Mi") == ""
    pod = await agent.shop.pod_now("mine")
    assert pod.spec.containers[0].resources.limits["memory"] == "288Mi"
    assert await agent.resizes("mine", "167772160", "0.5Gi") == ""
    refused = {
        "own node": await agent.resizes("elsewhere", "160Mi", "288Mi"),
        "lower none": await agent.resizes("mine", "159Mi", "600Mi"),
        "raise memory, and lower": await agent.resizes("mine", "160Mi", "500M"),
        "memory of containers": await agent.resizes("mine", "160Mi", "512Mi", cpu="200m"),
        "and nothing else": await agent.resizes("mine", "1Mi", "2Mi", container="free"),
        "that Plimsoll has sized": await agent.resizes("unsized", "160Mi", "288Mi"),
        "running pods": await agent.resizes("waiting", "160Mi", "288Mi"),
    }
    assert {words: words in said for words, said in refused.items()} == dict.fromkeys(refused, True)


async def test_it_may_change_nothing_else_of_a_pod(agent: Agent) -> None:
    note = {"metadata": {"annotations": {"example.com/a": "b"}}}
    assert "cannot patch resource" in await agent.patches(note, "mine")
    status = {"status": {"phase": "Failed"}}
    assert "cannot patch resource" in await agent.patches(status, "mine", "status")
    # With a resize it may send anything; the API server takes only the resources.
    await agent.patches({**note, "spec": {"activeDeadlineSeconds": 1}}, "mine", "resize")
    pod = await agent.shop.pod_now("mine")
    assert pod.metadata.annotations == SIZED
    assert pod.spec.active_deadline_seconds is None


async def test_a_token_that_is_bound_to_no_pod_raises_nothing(
    agent: Agent, account: AgentAccount, agent_with: Callable[[str], Agent]
) -> None:
    stray = agent_with(account.unbound_token())
    assert "its own node" in await stray.resizes("mine", "160Mi", "288Mi")


async def test_the_policy_is_about_agents_alone(agent: Agent) -> None:
    anybody = Agent(agent.shop, ApiServer(agent.shop.core.api_client))
    assert await anybody.resizes("elsewhere", "150Mi", "300Mi") == ""
