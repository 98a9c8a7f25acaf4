"""Placing: which tasks get along on a node, learned from their runtimes, and used. Pure.

In: finished runs with what ran beside them, jobs that wait, nodes and who is on them. Out: a
matrix of slowdowns with how sure it is, the next job, and the node it gets along on. A *kind* is
a task, or a group of tasks that are told apart no further. May import: ``core``.
"""
