"""Controller and admission as the chart runs them where pods may wait for their turn."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from deploy.chart.rendering import CHECKOUT, NAME

from tests.chart.helm import documents_in
from tests.conftest import Cluster
from tests.ha.whole import Whole, the_whole

API, TOKEN = "https://127.0.0.1:6443", "api-token"
LEASE = "plimsoll-controller"
ACCOUNT = f"{NAME}-admission"
OBJECTS = (ACCOUNT, f"{ACCOUNT}-jobs")
GOLDEN = CHECKOUT / "tests" / "chart" / "golden" / "ordered.yaml"
CLUSTER_WIDE = (
    *("ClusterRole", "ClusterRoleBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
RIGHTS = (*CLUSTER_WIDE, "Role", "RoleBinding")


@contextlib.asynccontextmanager
async def a_plimsoll_that_holds(
    cluster: Cluster,
    own: str,
    folder: Path,
    *,
    without: Collection[str] = (),
    replicas: int = 1,
    **of_controller: str,
) -> AsyncIterator[Whole]:
    """Start it with a Lease, and with an account that may release pods; end it with the block.

    own: its namespace, which exists. without: programs that are not started. replicas: of
        controller and admission. of_controller: more variables of the controller's environment.
    """
    cluster.apply({"apiVersion": "v1", "kind": "List", "items": rights(own)})
    try:
        async with the_whole(
            cluster, folder, told(cluster, folder, own, of_controller), without, replicas
        ) as whole:
            yield whole
    finally:
        made = [f"{kind.lower()}/{name}" for kind in CLUSTER_WIDE for name in OBJECTS]
        cluster.kubectl("delete", *made, "--ignore-not-found")


def rights(own: str) -> list[dict[str, Any]]:
    """The chart's rights of admission where pods may wait, in another namespace than usual."""
    text = GOLDEN.read_text().replace(f":{NAME}:{ACCOUNT}", f":{own}:{ACCOUNT}")
    found = [
        each
        for each in documents_in(text)
        if each["metadata"]["name"] in OBJECTS and each["kind"] in ("ServiceAccount", *RIGHTS)
    ]
    for each in found:
        for place in (each["metadata"], *each.get("subjects", ())):
            if place.get("namespace") == NAME:
                place["namespace"] = own
    return found


def told(
    cluster: Cluster, folder: Path, own: str, of_controller: Mapping[str, str]
) -> Mapping[str, dict[str, str]]:
    """The chart's settings of controller and admission, by process."""
    token = folder / TOKEN
    token.write_text(cluster.kubectl("create", "token", ACCOUNT, "-n", own).strip())
    both = {"PLIMSOLL_LEASE": LEASE, "PLIMSOLL_NAMESPACE": own}
    return {
        "controller": {**both, **of_controller},
        "admission": {
            **both,
            "PLIMSOLL_API_URL": API,
            "PLIMSOLL_API_TOKEN_FILE": str(token),
            "PLIMSOLL_API_CA_FILE": str(cluster.handle.layout.certificates / "ca.crt"),
        },
    }
