"""Drivers of Spark, and the options that they are given."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.splitting.spark_driver import OPTIONS
from plimsoll_predictor.core.task import TaskId
from tests.builders.pods import APod, a_pod

DRIVERS = TaskId("shop", "spark.sales.driver")
EXECUTORS = TaskId("shop", "spark.sales.executor")
SMALLER = (
    "-Dspark.sql.shuffle.partitions=400"
    " -Dspark.sql.adaptive.advisoryPartitionSizeInBytes=16m"
    " -Dspark.sql.files.maxPartitionBytes=64m"
    " -Dspark.plimsoll.partitions=400"
    " -Dspark.kubernetes.executor.annotation.features.plimsoll.dev/partitions-step=1"
)


def of_spark(role: str, name: str = "sales") -> APod:
    app = {"spark-role": role, "spark-app-selector": "spark-1", "spark-app-name": name}
    pod = a_pod().named(f"{name}-{role}").labelled(labels.AUTO).with_labels(app)
    return pod.asking("1Gi").limited("1Gi").restarting("Never")


DRIVER = of_spark("driver")


def options_of(pod: dict[str, Any]) -> str:
    (variable,) = (v for v in pod["spec"]["containers"][0]["env"] if v["name"] == OPTIONS)
    return str(variable["value"])
