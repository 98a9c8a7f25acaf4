"""Airflow's pods, as of its provider cncf-kubernetes 10.25.0, which requirements/airflow.lock has.

apache/airflow, providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/:

- operators/pod.py, ``_get_ti_pod_labels``: the operator's labels
- pod_generator.py, ``construct_pod`` and ``build_labels_for_k8s_executor_pod``: the executor's
  labels, and the same as annotations, whole
- operators/spark_kubernetes.py: the labels of a task on Spark's driver and executors, and the
  generated name of the SparkApplication
"""

from __future__ import annotations

from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_pod, safe_label

OPERATOR, EXECUTOR = "kubernetes_pod_operator", "kubernetes_executor"


def operators(chance: Chance, dag: str, task: str, mapped: bool = False) -> Json:
    """A pod of the KubernetesPodOperator, with random_name_suffix."""
    labels = _labels(chance, dag, task, mapped)
    labels |= {OPERATOR: "True", "airflow_version": "3.1.0", "airflow_kpo_in_cluster": "True"}
    name = f"{task.replace('_', '-').replace('.', '-').lower()}-{chance.letters(8)}"
    return a_pod(name, labels=labels, containers=("base",))


def executors(chance: Chance, dag: str, task: str) -> Json:
    """A pod of the KubernetesExecutor."""
    labels = _labels(chance, dag, task)
    labels |= {EXECUTOR: "True", "airflow-worker": str(chance.number(9999))}
    notes = {"dag_id": dag, "task_id": task, "try_number": labels["try_number"]}
    name = f"{dag}-{task}-{chance.letters(8)}".lower().replace("_", "-")
    return a_pod(name, labels=labels, annotations=notes, containers=("base",))


def _labels(chance: Chance, dag: str, task: str, mapped: bool = False) -> dict[str, str]:
    run = chance.one_of(f"scheduled__{chance.time()}", f"manual__{chance.time()}")
    labels = {
        "dag_id": safe_label(dag),
        "task_id": safe_label(task),
        "run_id": safe_label(run),
        "try_number": str(1 + chance.number(3)),
    }
    return labels | ({"map_index": str(chance.number(500))} if mapped else {})


LONG = "a_dag_of_a_team_that_likes_to_say_everything_in_the_name_of_it"

TASKS = (
    Task("airflow", "a task", partial(operators, dag="etl", task="load")),
    Task("airflow", "mapped tasks", partial(operators, dag="etl", task="scan", mapped=True)),
    Task("airflow", "a task of a group", partial(operators, dag="etl", task="night.load")),
    Task("airflow", "a dag with a dot", partial(operators, dag="etl.night", task="load")),
    Task("airflow", "the executor's pod of it", partial(executors, dag="etl", task="load")),
    Task("airflow", "a dag named as an engine", partial(operators, dag="tekton", task="a.b")),
    Task("airflow", "a dag named as the table", partial(operators, dag="airflow", task="a.b")),
    Task("airflow", "a dag named as no dag", partial(operators, dag="job", task="etl.load")),
    Task("airflow", "names cut to a hash", partial(operators, dag=LONG + "_1", task="load")),
    Task("airflow", "another of them", partial(operators, dag=LONG + "_2", task="load")),
    Task("airflow", "letters out of ASCII", partial(operators, dag="größe", task="laden")),
    Task("airflow", "others of them", partial(operators, dag="grüße", task="laden")),
)
