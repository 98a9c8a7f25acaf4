"""Standing by without flooding the API server, and giving a Lease back in any state of it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.election import AlwaysFit, Election, Terms
from plimsoll_operator.leadership.lease import Lease, held_spec, read_lease
from tests.apiserver.controllers import Shop, until
from tests.apiserver.leading.candidates import own_objects
from tests.apiserver.waiting import a_role
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

LEASE = "plimsoll-controller"
TERMS = Terms(LEASE, "one", 5.0)
FREE = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 3}
LEADING = Terms(LEASE, "one", 300.0)
"""A leader's terms in this process, so long that no pause makes its watchdog end it."""
LOOKS = 4


class StoreAway(AlwaysFit):
    """A controller whose database does not answer."""

    def unfit_to_compete(self) -> str | None:
        return "the store does not answer"


def looks(objects: OwnObjects) -> list[str]:
    """A list that grows with each request for the Lease from now on."""
    asked: list[str] = []
    ask = objects.lease

    async def counted(name: str, within_s: float) -> dict[str, object]:
        asked.append(name)
        return await ask(name, within_s)

    objects.lease = counted  # type: ignore[method-assign]
    return asked


async def found(objects: OwnObjects) -> Lease:
    return read_lease(await objects.lease(LEASE, 5.0))


async def test_a_leader_that_ends_in_the_middle_of_a_renewal_gives_the_lease_back(
    shop: Shop, knowing_cluster: Cluster
) -> None:
    async with own_objects(knowing_cluster.kubeconfig, shop.namespace) as objects:
        election = Election(objects, LEADING, AlwaysFit())
        await election.stand_by()
        held = await found(objects)
        # The API server has written it, but the answer never came.
        unheard = held_spec(held, LEADING.me, LEADING.lease_s, datetime.now(UTC))
        await objects.put_lease(LEASE, unheard, held.version, 5.0)
        await election.give_up()
        assert (await found(objects)).holder is None


async def test_a_leader_that_ends_after_another_has_begun_leaves_the_lease_to_it(
    shop: Shop, knowing_cluster: Cluster
) -> None:
    async with own_objects(knowing_cluster.kubeconfig, shop.namespace) as objects:
        election = Election(objects, LEADING, AlwaysFit())
        await election.stand_by()
        held = await found(objects)
        taken = held_spec(held, "two", LEADING.lease_s, datetime.now(UTC))
        await objects.put_lease(LEASE, taken, held.version, 5.0)
        await election.give_up()
        assert (await found(objects)).holder == "two"


async def stands_by(election: Election, asked: list[str]) -> float:
    """Wait until it has looked at the Lease some times; return the most looks due by then."""
    began_s = time.monotonic()
    standing = asyncio.create_task(election.stand_by())
    await until("it looks", lambda: len(asked) >= LOOKS)
    took_s = time.monotonic() - began_s
    standing.cancel()
    await asyncio.gather(standing, return_exceptions=True)
    return took_s / TERMS.renew_every_s + 1


async def test_whose_database_is_away_does_not_flood_the_api_server(
    shop: Shop, knowing_cluster: Cluster
) -> None:
    async with own_objects(knowing_cluster.kubeconfig, shop.namespace) as objects:
        await objects.put_lease(LEASE, FREE, None, 5.0)
        asked = looks(objects)
        election = Election(objects, TERMS, StoreAway())
        due = await stands_by(election, asked)
    assert election.trouble == "the store does not answer"
    assert not election.leads
    assert LOOKS <= len(asked) <= due


async def test_who_may_not_write_the_lease_does_not_flood_the_api_server(
    shop: Shop, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    reading = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    async with (
        own_objects(knowing_cluster.kubeconfig, shop.namespace) as admin,
        a_role(shop, knowing_cluster, tmp_path) as kubeconfig,
    ):
        await admin.put_lease(LEASE, FREE, None, 5.0)
        await rbac.patch_cluster_role(shop.namespace, {"rules": [reading]})
        kube = await Kube.connect(str(kubeconfig), None)
        objects = OwnObjects(kube, shop.namespace)
        asked = looks(objects)
        election = Election(objects, TERMS, AlwaysFit())
        due = await stands_by(election, asked)
        await kube.close()
    assert election.trouble is not None
    assert "forbidden" in election.trouble
    assert not election.leads
    assert LOOKS <= len(asked) <= due
