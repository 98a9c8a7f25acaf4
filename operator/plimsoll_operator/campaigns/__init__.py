"""Profiling campaigns in Kubernetes: read the object, make a run's Job, read its state.

And in Airflow: read the file of configurations, choose the DAG run to trigger next.

In: documents of the API server, a file, states of DAG runs. Out: rules and scenarios, manifests,
statuses, what to do next. Pure. May import:
``sizing``, ``policy``, ``pods``, ``names``, ``wording``, the predictor.
"""
