"""Forecasts of runtimes: folded from sightings, and compared with running attempts.

In: sightings of runs. Out: forecasts, and runs that run long.
May import: ``controller.learning``, ``controller.tasks``, ``controller.hub``, the predictor.
"""
