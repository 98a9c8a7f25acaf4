"""How an attempt went and ended, and what its next one looks like. Pure.

In: a watched pod and its measured peaks. Out: an outcome, an observation, a retry's manifest.
May import: ``sizing``, ``pods``, ``names`` and the predictor.
"""
