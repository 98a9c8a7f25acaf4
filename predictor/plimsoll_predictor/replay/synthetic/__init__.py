"""Tasks that nobody ran, drawn by known laws: an oracle says what the best sizes would waste.

In: a seed. Out: rows as traces give them, and the oracle's sizes beside them.
May import: ``replay.sizes``, ``core``.
"""
