"""All tasks of all engines."""

from tests.builders.engines import airflow, argo, jobs, orchestrators, pipelines, spark, trainings
from tests.builders.engines.runs import Task

TASKS: tuple[Task, ...] = (
    *airflow.TASKS,
    *argo.TASKS,
    *spark.TASKS,
    *pipelines.TASKS,
    *trainings.TASKS,
    *orchestrators.TASKS,
    *jobs.TASKS,
)
