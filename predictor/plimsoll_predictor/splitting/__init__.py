"""Splitting: how much work a task takes at once, and the memory that this needs. Pure.

In: what chunks of a task's runs did (items, seconds, peaks). Out: what an item and a chunk cost,
how long a job takes cut in some way, a proposal with its interval, or that there is nothing to
gain. An *item* is whatever the work is counted in: a file, a row, a byte. May import: ``core``.
"""
