"""Namespaces in enforce mode whose people want engines' pods recognised without a label."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, a_shop, until
from tests.e2e.seeing import WITHIN_S, create, sizes_in_mode
from tests.e2e.workloads import Manifest, an_airflow_try


@contextlib.asynccontextmanager
async def an_opted_in_shop(kubeconfig: Path) -> AsyncIterator[Shop]:
    """Such a namespace, known to admission and to the API server's webhooks."""
    async with a_shop(kubeconfig) as made:
        its = {"metadata": {"labels": {labels.ENABLED: "true"}}}
        await made.core.patch_namespace(made.namespace, its)
        await made.enforce(minRuns=1)
        await sizes_in_mode(made, "enforce")
        await until("the label at the API server", lambda: recognised(made), WITHIN_S)
        yield made


async def recognised(shop: Shop) -> bool:
    """Whether a pod of an engine gets its label there."""
    probe = without_label(an_airflow_try(1, "eat 1", task="probe"))
    pod = await create(shop, probe, dry_run=True)
    return labels.TASK in pod.metadata.labels


def without_label(manifest: Manifest) -> Manifest:
    """The same pod, as an engine makes it for people who do not know Plimsoll."""
    del manifest["metadata"]["labels"][labels.TASK]
    return manifest
