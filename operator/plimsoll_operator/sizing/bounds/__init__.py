"""Decides what LimitRanges, quotas and nodes allow one pod's sized container. Pure.

In: a pod, its namespace's objects and the classes of nodes. Out: the bounds of memory and CPU.
May import: ``pods``, ``names`` and the predictor's ``core``.
"""
