"""Sees which tasks run beside which, and learns from ended runs which task slows which.

In: living and ended attempts, forecasts of their runtimes, nodes, and how busy these are. Out: what
ran beside each attempt, a matrix of slowdowns, both in the feed, and whether the pods that there
were at the start have been seen. May import: ``attempts``, ``controller.hub``,
``controller.learning``, ``controller.tasks``, ``feed``, ``kube``, ``pods``, the predictor.
"""
