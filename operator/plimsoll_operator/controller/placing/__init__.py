"""Who runs beside whom, and who slows whom: seen, and learned from runs that ended.

In: living and ended attempts, forecasts of their runtimes, nodes, and how busy these are. Out: what
ran beside each attempt, a matrix of slowdowns, and both in the feed. May import: ``attempts``,
``controller.hub``, ``controller.learning``, ``controller.tasks``, ``feed``, the predictor.
"""
