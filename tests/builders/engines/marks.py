"""Labels by which an engine's pods are known, for tests that need no whole pod of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MARKS: Final[Mapping[str, Mapping[str, str]]] = {
    "prefect": {"prefect.io/flow-run-id": "r", "prefect.io/flow-name": "etl"},
    "dagster": {"dagster/run-id": "r", "dagster/job": "etl"},
    "airflow": {"dag_id": "d", "task_id": "t", "run_id": "r"},
    "airflow without the run": {"kubernetes_pod_operator": "True"},
}
