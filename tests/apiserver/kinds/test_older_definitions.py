"""A controller that is newer than the CRDs: it works, and reports what they drop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.controllers import Shop, a_controller, observed, until
from tests.apiserver.crds import CRDS, install_crds
from tests.apiserver.waiting import logged
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

NEWER = {"taskprofiles": ("wouldSave", "runs"), "sizingpolicies": ()}
"""Fields of the status that the older definitions lack; their spec lacks ``paused``."""


def older(plural: str) -> dict[str, Any]:
    """A definition as it was before these fields came."""
    found: dict[str, Any] = yaml.safe_load((CRDS / f"{plural}.yaml").read_text())
    for version in found["spec"]["versions"]:
        version.pop("additionalPrinterColumns", None)
        schema = version["schema"]["openAPIV3Schema"]
        schema.pop("x-kubernetes-validations", None)
        schema["properties"]["spec"]["properties"].pop("paused")
        for name in NEWER[plural]:
            schema["properties"]["status"]["properties"].pop(name)
    return found


@pytest.fixture
def older_definitions(knowing_cluster: Cluster) -> Iterator[Cluster]:
    for plural in NEWER:
        knowing_cluster.apply(older(plural))
    yield knowing_cluster
    install_crds(knowing_cluster)


async def test_with_older_definitions_runs_are_observed_and_what_they_drop_is_said(
    shop: Shop, older_definitions: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(paused=True)  # dropped by them: nothing pauses
    async with a_controller(older_definitions.kubeconfig, tmp_path) as controller:
        await shop.pod("one")
        await shop.end("one", "killed")
        await until("observed", lambda: observed(tmp_path, shop.task()))
        await until("retried", lambda: _pods_are(shop, 2))
        found = await until("it is said", lambda: _degraded_as(shop, "DefinitionsOutdated"))
        assert "drops status.runs" in found["message"]
        assert "kubectl apply -f deploy/crds" in found["message"]
        status = (await shop.profile("train"))["status"]
        assert "runs" not in status
        assert status["oomKills"] == 1

        install_crds(older_definitions)
        await shop.pod("two")
        await shop.end("two", "succeeded")
        await until("all is well", lambda: _degraded_as(shop, "AllWell"))
        assert "runs" in (await shop.profile("train"))["status"]
        assert controller.process.returncode is None
    (said,) = logged(tmp_path, "the definition of TaskProfile is of an older version")
    assert "runs" in said["lost"]
    assert "Traceback" not in (tmp_path / "controller.log").read_text()


async def _pods_are(shop: Shop, count: int) -> bool:
    return len(await shop.pods()) == count


async def _degraded_as(shop: Shop, reason: str) -> dict[str, Any] | None:
    status = (await shop.profile("train")).get("status") or {}
    for each in status.get("conditions") or ():
        if each["type"] == "Degraded" and each["reason"] == reason:
            return dict(each)
    return None
