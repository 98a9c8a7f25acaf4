"""Profiling campaigns as Kubernetes has them: the object read, a run's Job made, its state read.

In: documents of the API server. Out: rules and scenarios, manifests, statuses. Pure. May import:
``sizing``, ``policy``, ``pods``, ``names``, ``wording``, the predictor.
"""
