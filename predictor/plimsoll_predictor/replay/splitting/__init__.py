"""Plays jobs whose items' times are drawn, cut by a strategy, on workers that are simulated.

In: what items take, how many workers, what chunks and pods cost. Out: makespans, peaks, kills, and
the best even chunk that somebody could have known afterwards. May import: ``core``, ``splitting``.
"""
