"""Pods of Spark on Kubernetes.

apache/spark (nobody wrote down which version; 4.0.1 in a label is an example),
resource-managers/kubernetes/core/src/main/scala/org/apache/spark/deploy/k8s/:

- Constants.scala: the labels' names
- KubernetesConf.scala: their values, and ``getAppNameLabel``
- features/BasicDriverFeatureStep.scala, BasicExecutorFeatureStep.scala: names of pods and
  containers

kubeflow/spark-operator, as of 2.5.2:

- pkg/common/spark.go: the operator's labels
- internal/controller/scheduledsparkapplication/controller.go: <scheduled>-<Unix nanoseconds> as a
  run's name

apache/airflow, provider cncf-kubernetes 10.25.0,
providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/:

- operators/spark_kubernetes.py: Airflow's labels on both, and a name with eight random characters
"""

from __future__ import annotations

from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_pod

CONTAINERS = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}


def spark(chance: Chance, app: str, role: str, by: str = "spark-submit") -> Json:
    """A driver or executor. by: spark-submit, the operator, its schedule, or Airflow with it."""
    selector = f"spark-{chance.hexadecimal(32)}"
    number = chance.number(60)
    labels = {"spark-app-selector": selector, "spark-role": role, "spark-version": "4.0.1"}
    if role == "executor":
        labels |= {"spark-exec-id": str(number), "spark-exec-resourceprofile-id": "0"}
    name = {
        "spark-submit": app,
        "operator": app,
        "schedule": f"{app}-{chance.number(9) + 1}763000000{chance.number(10**9):09}",
        "Airflow": f"{app}-{chance.letters(8)}",
    }[by]
    labels["spark-app-name"] = name
    if by != "spark-submit":
        labels |= {
            "sparkoperator.k8s.io/app-name": name,
            "sparkoperator.k8s.io/launched-by-spark-operator": "true",
            "sparkoperator.k8s.io/submission-id": chance.uid(),
        }
    if by == "schedule":
        labels["sparkoperator.k8s.io/scheduled-app-name"] = app
    if by == "Airflow":
        labels |= {"dag_id": "etl", "task_id": app, "run_id": f"manual-{chance.hexadecimal(9)}",
                   "try_number": "1", "spark_kubernetes_operator": "True"}  # fmt: skip
    stem = f"{name}-{chance.hexadecimal(16)}"
    pod = f"{stem}-driver" if role == "driver" else f"{stem}-exec-{number}"
    owner = None
    if role == "executor":
        owner = ("v1", "Pod", f"{stem}-driver", chance.uid())
    return a_pod(pod, labels=labels, owner=owner, containers=(CONTAINERS[role],))


TASKS = tuple(
    Task("spark", f"{by}: {app}'s {role}", partial(spark, app=app, role=role, by=by))
    for role in CONTAINERS
    for app, by in (
        ("daily-report", "spark-submit"),
        ("weekly-report", "operator"),
        ("hourly-report", "schedule"),
        ("load", "Airflow"),
    )
)
