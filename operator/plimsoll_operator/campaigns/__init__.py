"""Profiling campaigns as Kubernetes has them: the object read, a run's Job made, its state read.

And as Airflow has them: the file of configurations read, which DAG run is triggered next.

In: documents of the API server, a file, states of DAG runs. Out: rules and scenarios, manifests,
statuses, what to do next. Pure. May import:
``sizing``, ``policy``, ``pods``, ``names``, ``wording``, the predictor.
"""
