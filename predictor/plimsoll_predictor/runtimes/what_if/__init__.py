"""The effect of other conditions on a runtime, or the answer that the data cannot tell.

In: past runs and a scenario. Out: an interval, or why there is none.
May import: ``runtimes.shapes``, ``runtimes.runs``, ``core``.
"""
