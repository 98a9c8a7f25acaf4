"""A task's past from a Prometheus: questions, and observations from the answers.

In: series of the kubelet and kube-state-metrics. Out: observations.
May import: ``attempts``, ``pods`` and the predictor.
"""
