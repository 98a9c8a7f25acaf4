"""Resolves the policy of a pod: annotation over TaskProfile over SizingPolicy over chart. Pure.

In: specs as people wrote them. Out: one Policy, and the reasons why fields were refused.
May import: ``pods``, ``names`` and the predictor. A policy's field is added in
``policy_resolution.py``.
"""
