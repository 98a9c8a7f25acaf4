"""Rescue: which running pods may get more before they reach their limit. Pure.

In: a pod as the API server gives it, and its task's policy. Out: why it may not be rescued, the
most that it may get, the patch that raises it, and what an agent may raise by itself. May import:
``pods``, ``names``, ``sizing``, ``policy``, ``attempts``, ``plimsoll_predictor``.
"""
