"""Decides which waiting pods are resized, to which size, and in which order. Pure.

In: pods without a node and what their tasks have learned. Out: resizes.
May import: ``attempts``, ``sizing``, ``pods``, ``names`` and the predictor.
"""
