"""The chart's pods on PostgreSQL: admission rolls under load, and serves when it is alone."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator

import pytest
from deploy.chart.rendering import NAME
from deploy.local.layout import NODE_ADDRESS

from tests.apiserver.controllers import until
from tests.chart.helm import Helm
from tests.chart.installing import CONTROLLER_ADDRESS, Release, a_place, chart_values, install
from tests.conftest import Cluster
from tests.databases import PostgreSQL, postgresql_server
from tests.ha.figures import FIGURES
from tests.ha.load import Counted, Load, a_load, kept, labelled, unlabelled

pytestmark = [pytest.mark.node]

SHOP = "ha-shop"
UNTOUCHED = "ha-shop-untouched"
"""A namespace whose pods the webhook is not asked about, and the controller sees all the same."""
BASELINE_S, SATURATED_S = 6.0, 3.0
LEAST_SHARE = 0.8
LONGEST_S = 1.0
STEPS_DOWN_WITHIN_S = 40.0


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQL]:
    """Reachable from pods."""
    with postgresql_server("*") as server:
        yield server


@pytest.fixture(scope="module")
def release(
    cluster_helm: Helm, cluster: Cluster, image: str, database: PostgreSQL
) -> Iterator[Release]:
    """Two controllers, two admission replicas, and a namespace to create pods in."""
    url = database.url(database.new_database(empty=True), NODE_ADDRESS)
    values = chart_values(
        image,
        policy={"mode": "enforce"},
        database={"existingSecret": "postgresql", "key": "url"},
        controller={"clusterIP": CONTROLLER_ADDRESS, "replicas": 2},
        webhook={"excludedNamespaces": [UNTOUCHED]},
    )
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "postgresql", "namespace": NAME},
        "data": {"url": base64.b64encode(url.encode()).decode()},
    }
    with a_place(cluster):
        cluster.apply(secret)
        for name in (SHOP, UNTOUCHED):
            cluster.kubectl("create", "namespace", name)
        try:
            yield install(cluster_helm, cluster, values)
        finally:
            cluster.kubectl("delete", "namespace", SHOP, UNTOUCHED, "--wait=false")


async def kubectl(release: Release, *words: str) -> str:
    return await asyncio.to_thread(release.cluster.kubectl, *words)


async def rolled(release: Release, deployment: str) -> None:
    """Restart a Deployment's pods one after another, until all are others."""
    name = f"deployment/{NAME}-{deployment}"
    await kubectl(release, "rollout", "restart", "-n", NAME, name)
    await kubectl(release, "rollout", "status", "-n", NAME, name, "--timeout=120s")


async def only(release: Release, component: str, count: int) -> None:
    """Wait until there are no more pods than that, those that are about to end included."""
    selector = f"app.kubernetes.io/component={component}"

    async def found() -> bool:
        words = ("get", "pods", "-n", NAME, "-l", selector, "-o", "name")
        return len((await kubectl(release, *words)).split()) == count

    await until(f"{count} pods of {component}", found, 90)


async def decided(load: Load) -> bool:
    """Whether a pod that is created now gets a decision."""
    counted = Counted()
    await load.create(counted, _body())
    assert counted.refused == []
    return counted.decided == 1


def _body() -> bytes:
    return json.dumps(labelled()).encode()


def leader_of(release: Release) -> str | None:
    """The pod that leads and is ready, as the controller's Service sees it."""
    slices = release.cluster.get(
        "endpointslices", "-n", NAME, "-l", f"kubernetes.io/service-name={NAME}-controller"
    )["items"]
    ready = [
        endpoint["targetRef"]["name"]
        for each in slices
        for endpoint in each.get("endpoints") or []
        if endpoint["conditions"].get("ready")
    ]
    assert len(ready) <= 1
    return ready[0] if ready else None


def holder(release: Release) -> str | None:
    """Who holds the Lease; empty if it was given back."""
    lease = release.cluster.get("lease", f"{NAME}-controller", "-n", NAME)
    found: str | None = lease["spec"].get("holderIdentity")
    return found


async def test_a_rolling_restart_under_load_fails_no_creation_and_delays_none(
    release: Release,
) -> None:
    async with a_load(release.cluster, SHOP) as load:
        await until("decided", lambda: decided(load), 60)
        busy_without = await load.for_s(SATURATED_S, unlabelled(), 0.0)
        busy = await load.for_s(SATURATED_S, labelled(), 0.0)
        before = await load.for_s(BASELINE_S, unlabelled())
        async with load.going_on(labelled()) as counted:
            await asyncio.sleep(2)
            await rolled(release, "admission")
            await asyncio.sleep(2)
        after = await load.for_s(BASELINE_S, unlabelled())
    without_per_s = (before.creations + after.creations) / (before.lasted_s + after.lasted_s)
    share = counted.per_s / without_per_s
    FIGURES.note(
        "ha.rolling_creations", f"{counted.creations}, of them failed {len(counted.refused)}"
    )
    FIGURES.note("ha.rolling_creations_without_a_decision", f"{counted.undecided}")
    FIGURES.note(
        "ha.rolling_creations_per_s",
        f"{counted.per_s:.0f} with, {without_per_s:.0f} without the webhook:"
        f" {share:.0%} (>= {LEAST_SHARE:.0%})",
    )
    FIGURES.note(
        "ha.saturated_creations_per_s",
        f"{busy.per_s:.0f} with, {busy_without.per_s:.0f} without the webhook (no bound)",
    )
    FIGURES.note("ha.rolling_slowest_creation_s", f"{counted.slowest_s:.2f} (<= {LONGEST_S:.0f})")
    assert counted.refused == busy.refused == []
    assert counted.undecided == busy.undecided == 0
    assert counted.slowest_s <= LONGEST_S
    assert share >= LEAST_SHARE


async def test_pods_created_as_fast_as_the_cluster_takes_them_are_all_decided_in_a_rolling_restart(
    release: Release,
) -> None:
    async with (
        a_load(release.cluster, SHOP) as dry,
        a_load(release.cluster, SHOP, dry_run=False) as load,
        a_load(release.cluster, UNTOUCHED, dry_run=False) as untouched,
    ):
        await until("decided", lambda: decided(dry), 60)
        before = await untouched.for_s(BASELINE_S, kept(), 0.0)
        async with load.going_on(kept(), 0.0) as counted:
            await asyncio.sleep(2)
            await rolled(release, "admission")
            await asyncio.sleep(2)
        after = await untouched.for_s(BASELINE_S, kept(), 0.0)
        for name in (SHOP, UNTOUCHED):
            await kubectl(release, "delete", "--raw", f"/api/v1/namespaces/{name}/pods")
    without_per_s = (before.creations + after.creations) / (before.lasted_s + after.lasted_s)
    share = counted.per_s / without_per_s
    FIGURES.note("ha.kept_creations", f"{counted.creations}, of them failed {len(counted.refused)}")
    FIGURES.note(
        "ha.kept_creations_per_s",
        f"{counted.per_s:.0f} with, {without_per_s:.0f} without the webhook:"
        f" {share:.0%} (no bound)",
    )
    # With both processors busy, how long one waits is up to whoever else wants them.
    FIGURES.note("ha.kept_slowest_creation_s", f"{counted.slowest_s:.2f} (no bound)")
    assert counted.refused == before.refused == after.refused == []
    assert counted.undecided == 0


async def test_a_leading_pod_that_is_killed_is_followed_by_the_other(release: Release) -> None:
    async with a_load(release.cluster, SHOP) as load:
        leader = await until("a leader", lambda: leader_of(release), 60)
        await kubectl(release, "delete", "pod", "-n", NAME, leader, "--force", "--grace-period=0")
        began_s = asyncio.get_running_loop().time()
        assert await decided(load)
        await until("another leads", lambda: leader_of(release) not in (None, leader), 40)
        FIGURES.note(
            "ha.leading_pod_deleted_takeover_s",
            f"{asyncio.get_running_loop().time() - began_s:.1f}",
        )
        await until("it is replaced", lambda: len(release.pods("controller")) == 2, 60)


async def test_admission_decides_on_without_the_database(
    release: Release, database: PostgreSQL
) -> None:
    async with a_load(release.cluster, SHOP) as load:
        leader = await until("a leader", lambda: leader_of(release), 60)
        with database.frozen():  # it takes connections, and never answers
            assert await decided(load)
            await until("it is not asked any more", lambda: leader_of(release) is None, 30)
            # Another might reach the database: whoever cannot gives the lead away.
            await until("nobody leads", lambda: not holder(release), STEPS_DOWN_WITHIN_S)
            assert await decided(load)
        await until("one leads again", lambda: leader_of(release), 90)
        assert leader is not None


async def test_admission_serves_without_controllers_and_admits_when_its_knowledge_is_old(
    release: Release,
) -> None:
    async with a_load(release.cluster, SHOP) as load:
        await until("a leader", lambda: leader_of(release), 60)
        await kubectl(release, "scale", "-n", NAME, f"deployment/{NAME}-controller", "--replicas=0")
        await only(release, "controller", 0)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.undecided) == ([], 0)
        # New replicas know nothing, and nobody tells them: they admit, unchanged, and are ready.
        await rolled(release, "admission")
        await only(release, "admission", 2)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.decided) == ([], 0)
        assert counted.creations > 0
        await kubectl(release, "scale", "-n", NAME, f"deployment/{NAME}-controller", "--replicas=2")
        await until("decided again", lambda: decided(load), 60)


async def test_pods_are_created_as_ever_with_the_webhooks_pods_gone(release: Release) -> None:
    async with a_load(release.cluster, SHOP) as load:
        await kubectl(release, "scale", "-n", NAME, f"deployment/{NAME}-admission", "--replicas=0")
        await only(release, "admission", 0)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.decided) == ([], 0)
        assert counted.slowest_s <= LONGEST_S
