"""When a task is trained, by which process, and where trainings are tracked.

In: tasks that are due. Out: a trainer's process, and its records in an MLflow.
May import: ``views`` and the predictor.
"""
