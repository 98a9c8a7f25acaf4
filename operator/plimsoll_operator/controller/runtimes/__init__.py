"""Forecasts of runtimes: folded from what was seen, and held against running attempts.

In: sightings of runs. Out: forecasts, and runs that run long.
May import: ``controller.learning``, ``controller.tasks``, ``controller.hub``, the predictor.
"""
