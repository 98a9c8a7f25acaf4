"""Whose rules hold for a pod: annotation, TaskProfile, SizingPolicy, chart. Pure.

In: specs as people wrote them. Out: one TaskPolicy, and why a spec was refused.
May import: ``pods``, ``names`` and the predictor. A policy's field is added in ``policies.py``.
"""
