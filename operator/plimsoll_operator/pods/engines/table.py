"""The table of engines. A new one is a row of ``ENGINES``; nothing else has to know it.

A pod is scanned once: each of its labels and annotations is looked up in a set of marks, at a few
dozen nanoseconds each, and only a pod with a mark is read further. The number of engines does not
matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.objects import Pod, annotations_of
from plimsoll_operator.pods.engines.airflow import airflow
from plimsoll_operator.pods.engines.argo import ARGO
from plimsoll_operator.pods.engines.gitlab import GITLAB
from plimsoll_operator.pods.engines.nextflow import NEXTFLOW
from plimsoll_operator.pods.engines.orchestrators import DAGSTER, FLYTE, PREFECT
from plimsoll_operator.pods.engines.row import Engine, EngineRun
from plimsoll_operator.pods.engines.spark import SPARK
from plimsoll_operator.pods.engines.tekton import TEKTON
from plimsoll_operator.pods.engines.trainings import JOBSET, RAY, TRAINING_OPERATOR

_OTHERS: Final = (
    SPARK,
    ARGO,
    TEKTON,
    NEXTFLOW,
    JOBSET,
    TRAINING_OPERATOR,
    RAY,
    FLYTE,
    DAGSTER,
    PREFECT,
    GITLAB,
)
JOB_NAMES: Final = "job"
"""The beginning of a task's name if the name of its Job or CronJob has a dot."""

ENGINES: Final = (
    SPARK,  # before Airflow, whose operator for Spark writes Airflow's labels on Spark's pods
    airflow(frozenset({"airflow", "airflow-worker", JOB_NAMES, *(each.name for each in _OTHERS)})),
    *_OTHERS[1:],
)
"""All engines, in the order in which they are tried. A new engine is added here."""

_MARKS: Final = frozenset(
    mark for engine in ENGINES for mark in (*engine.marks, *engine.shared_marks)
)
WAITING_MARKS: Final = frozenset(
    mark for engine in ENGINES if not engine.limits_start for mark in engine.marks
)
"""Labels of pods whose engine waits for their start for as long as it takes."""
_LIMITING_START: Final = frozenset(engine.name for engine in ENGINES if engine.limits_start)
_NOTE_MARKS: Final = frozenset(mark for engine in ENGINES for mark in engine.note_marks)


def engine_run(pod: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    """Return the pod's run by its engine; None if no engine in ``ENGINES`` made the pod."""
    if _MARKS.isdisjoint(pod_labels) and _NOTE_MARKS.isdisjoint(annotations_of(pod)):
        return None
    for engine in ENGINES:
        if _is_marked(pod, pod_labels, engine):
            run = engine.read(pod, pod_labels)
            if run is not None:
                return run
    return None


def limits_start(run: EngineRun) -> bool:
    """Say whether the run's engine fails a pod that is Pending for some minutes."""
    return run.engine in _LIMITING_START


def _is_marked(pod: Pod, pod_labels: Mapping[str, Any], engine: Engine) -> bool:
    if any(mark in pod_labels for mark in (*engine.marks, *engine.shared_marks)):
        return True
    return bool(engine.note_marks) and any(
        mark in annotations_of(pod) for mark in engine.note_marks
    )
