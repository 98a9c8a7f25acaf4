"""Other projects' kinds of which the chart makes objects, on the local cluster."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

from deploy.local.binaries.tools import foreign_crds

from tests.chart.installing import until
from tests.conftest import Cluster

CERT_MANAGER = ("certificates.cert-manager.io", "issuers.cert-manager.io")
PROMETHEUS = (
    "podmonitors.monitoring.coreos.com",
    "servicemonitors.monitoring.coreos.com",
    "prometheusrules.monitoring.coreos.com",
)


@contextlib.contextmanager
def foreign_kinds(cluster: Cluster, names: Sequence[str]) -> Iterator[None]:
    """Their definitions, from their own projects, until the block ends."""
    wanted = {_file(name) for name in names}
    there = foreign_crds(cluster.handle.environment, lambda text: print(text, file=sys.stderr))
    files = [each for each in there if each.name in wanted]
    assert {each.name for each in files} == wanted
    for each in files:
        cluster.kubectl("apply", "--server-side", "-f", str(each))
    kinds = [f"crd/{name}" for name in names]
    served = ["wait", "--for=condition=Established", "--timeout=240s", *kinds]
    # kubectl fails on a definition that has no condition yet.
    until("the kinds are served", lambda: cluster.kubectl(*served))
    try:
        yield
    finally:
        cluster.kubectl("delete", *kinds, "--timeout=240s")


def _file(name: str) -> str:
    plural, _, group = name.partition(".")
    return f"{group}_{plural}.yaml"
