"""Plays jobs whose items' times are drawn; a strategy cuts them, and workers are simulated.

In: items' times, how many workers, what chunks and pods cost. Out: makespans, peaks, kills, and the
best even chunk in hindsight. May import: ``core``, ``splitting``.
"""
