"""What tasks use of what they ask for."""

from __future__ import annotations

from dataclasses import replace

from plimsoll_predictor.core.task_groups import TaskUse
from plimsoll_predictor.core.units import GB

A_TASK = TaskUse(
    task="shop/train",
    runs=40,
    runtime_s=600.0,
    request_bytes=20 * GB,
    used_bytes=1 * GB,
    most_bytes=2 * GB,
    request_cores=4.0,
    used_cores=0.5,
    most_cores=0.9,
)


def a_task(name: str, mean_gb: float, most_gb: float, **fields: float | None) -> TaskUse:
    used = replace(A_TASK, task=f"shop/{name}", used_bytes=mean_gb * GB, most_bytes=most_gb * GB)
    return replace(used, **fields)  # type: ignore[arg-type]
