"""Reads attempts, judges their ends, and makes the next ones. Pure.

In: a watched pod and its measured peaks. Out: an outcome, an observation, a retry's manifest.
May import: ``sizing``, ``policy``, ``pods``, ``names`` and the predictor.
"""
