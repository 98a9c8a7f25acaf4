"""A task's past from a Prometheus: what is asked, and what follows from it.

In: series of the kubelet and kube-state-metrics. Out: observations.
May import: ``attempts``, ``pods`` and the predictor.
"""
