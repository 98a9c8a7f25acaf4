"""The controller's Prometheus metrics; other processes have a metrics.py of their own.

And what all share: a process's registry, and a log that requests cannot flood.

In: what happened. Out: series. May import: ``sizing`` and the predictor.
"""
