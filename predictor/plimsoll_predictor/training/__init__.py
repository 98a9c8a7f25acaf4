"""Trains a task's classifier and quantiles, and measures their out-of-time costs.

In: a task's observations. Out: a model and a report. Loads scikit-learn and XGBoost.
May import: ``deciding``, ``model``, ``core``.
"""
