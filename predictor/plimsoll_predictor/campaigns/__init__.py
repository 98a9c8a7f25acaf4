"""Profiling campaigns: scenarios of a task, which of them runs next, and what was found out.

In: scenarios, runs so far, what the cluster shows of them, the time. Out: the next steps, figures.
May import: ``model``, ``core``.
"""
