"""Decides when a task is trained, starts the trainer's process, and tracks trainings.

In: tasks that are due. Out: a trainer's process, and its records in MLflow.
May import: ``views`` and the predictor.
"""
