"""The controller's Prometheus metrics; admission and agent have a metrics.py of their own.

In: what happened. Out: series. May import: ``sizing`` and the predictor.
"""
