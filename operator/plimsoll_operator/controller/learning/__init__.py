"""Lessons folded into the experts, and saved; how a fold and its saving alternate.

In: lessons from the store. Out: who serves each task, and its rule.
May import: ``controller.tasks``, ``controller.hub``, the predictor.
"""
