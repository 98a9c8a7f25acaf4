"""The definitions of our kinds on the local cluster, whoever made them."""

from __future__ import annotations

from deploy.chart.generated import CHECKOUT

from tests.conftest import Cluster

# Each file is named by its kind's plural; to read them all takes longer.
CRD_NAMES = sorted(
    f"{each.stem}.plimsoll.dev" for each in (CHECKOUT / "deploy" / "crds").glob("*.yaml")
)


def remove_kinds(cluster: Cluster) -> None:
    """Remove the definitions, and with them all objects of our kinds."""
    words = ("--ignore-not-found", "--timeout=240s")
    cluster.kubectl("delete", "customresourcedefinition", *CRD_NAMES, *words)
