"""Folds lessons into the experts and saves them; alternates any fold with its saving.

In: lessons from the store. Out: which expert serves each task, and the task's rule.
May import: ``controller.tasks``, ``controller.hub``, the predictor.
"""
