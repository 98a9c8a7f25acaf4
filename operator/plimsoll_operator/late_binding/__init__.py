"""Which waiting pods are decided again, to what, and in which order. Pure.

In: pods without a node and what their tasks have learned. Out: resizes.
May import: ``sizing``, ``pods``, ``names`` and the predictor.
"""
