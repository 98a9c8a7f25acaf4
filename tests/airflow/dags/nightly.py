"""DAGs of people who do not know Plimsoll; the processes of a real Airflow read this file.

Their sizes are static, as most are: one for all mapped tasks, whatever each of them needs. Only one
of them mentions Plimsoll, to opt out.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG, Param
from kubernetes.client import models as k8s

SMALL_MIB, LARGE_MIB = 24, 90
LARGE = {int(index) for index in os.environ.get("EATER_LARGE", "2,5,8").split(",")}
"""Which of the ten mapped tasks need more than they ask for. The tasks start in order."""
NEEDS_MIB = [LARGE_MIB if index in LARGE else SMALL_MIB for index in range(10)]


def eating(memory: str, **options: Any) -> dict[str, Any]:
    """What all pods here have in common. memory: request and limit of each."""
    return {
        "image": os.environ["EATER_IMAGE"],
        "image_pull_policy": "Never",
        "cmds": ["/task"],
        "namespace": os.environ["EATER_NAMESPACE"],
        "in_cluster": False,
        "config_file": os.environ["EATER_KUBECONFIG"],
        "container_resources": k8s.V1ResourceRequirements(
            requests={"memory": memory}, limits={"memory": memory}
        ),
        "automount_service_account_token": False,
        "termination_grace_period": 0,
        "get_logs": False,
        **options,
    }


def a_dag(name: str, retries: int) -> DAG:
    """A DAG that runs when somebody asks for it."""
    return DAG(
        name,
        schedule=None,
        start_date=datetime(2026, 1, 1),
        default_args={"retries": retries, "retry_delay": timedelta(seconds=1)},
    )


with a_dag("nightly", retries=2):
    KubernetesPodOperator.partial(
        task_id="chunk", on_finish_action="delete_pod", **eating("64Mi")
    ).expand(arguments=[["eat", str(mib), "2"] for mib in NEEDS_MIB])

# Long enough for Airflow to defer the task: its scheduler takes a task that comes back within
# seconds for a lost one, and tries it again.
with a_dag("deferred", retries=2):
    KubernetesPodOperator.partial(
        task_id="chunk", deferrable=True, poll_interval=1, **eating("64Mi")
    ).expand(arguments=[["eat", str(mib), "12"] for mib in (SMALL_MIB, LARGE_MIB)])

with a_dag("alone", retries=2):
    KubernetesPodOperator(
        task_id="chunk",
        labels={"plimsoll.dev/enabled": "false"},
        arguments=["eat", str(LARGE_MIB), "2"],
        **eating("64Mi"),
    )

with a_dag("once", retries=0):
    KubernetesPodOperator.partial(task_id="chunk", **eating("128Mi")).expand(
        arguments=[["eat", str(SMALL_MIB), "1"] for _ in range(4)]
    )

# The trigger's conf says what it works on: its names are those of the params.
with DAG(
    "asked",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    params={"mib": Param(SMALL_MIB, type="integer", maximum=1024)},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
):
    KubernetesPodOperator(
        task_id="chunk",
        arguments=["eat", "{{ params.mib }}", "1"],
        annotations={"features.plimsoll.dev/mib": "{{ params.mib }}"},
        **eating("256Mi"),
    )
