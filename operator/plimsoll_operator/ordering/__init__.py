"""Ordering: which new pods wait behind a gate, and which of them is next. Pure.

In: pods and nodes as the API server gives them, and what pairs of tasks cost. Out: which pods are
held or released, their best nodes, the patches, and whether nobody leads any more. May import:
``pods``, ``names``, ``sizing``, ``plimsoll_predictor``.
"""
