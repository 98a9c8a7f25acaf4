"""Placing: which tasks get along on a node, learned from their runtimes, and used. Pure.

In: finished runs with what ran beside them, waiting jobs, nodes and the tasks on them. Out: a
matrix of slowdowns with how sure it is, the next job, and the best node for it. A *kind* is a task,
or a group of tasks that count as one. May import: ``core``.
"""
