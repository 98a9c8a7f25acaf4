"""Synthetic tasks, drawn by known laws: an oracle says what the best sizes would waste.

In: a seed. Out: rows like those of traces, and the oracle's sizes for them.
May import: ``replay.sizes``, ``core``.
"""
