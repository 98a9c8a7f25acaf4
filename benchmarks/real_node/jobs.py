"""Jobs that benchmarks run on the real node, one at a time."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from kubernetes_asyncio import client

from benchmarks.real_node.stand import Stand

_LOOK_S: Final = 0.1


async def ran(stand: Stand, job: dict[str, Any]) -> tuple[float, list[Any]]:
    """Run a Job until all its indexes have succeeded. Return its seconds and its pods."""
    batch, core = client.BatchV1Api(stand.core.api_client), stand.core
    began_s = time.monotonic()
    made = await batch.create_namespaced_job(stand.namespace, job)
    selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"
    while True:
        found = await core.list_namespaced_pod(stand.namespace, label_selector=selector)
        done = sum(pod.status.phase == "Succeeded" for pod in found.items)
        if done == made.spec.completions:
            return time.monotonic() - began_s, list(found.items)
        await asyncio.sleep(_LOOK_S)
