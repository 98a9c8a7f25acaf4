"""Splitting: how a new Job over items is cut, and how its pods are told. Pure.

In: a Job as the API server gives it, and what its task's chunks took. Out: the Job as it is cut,
the patch, and words for why it is left as written. May import: ``sizing``, ``policy``, ``pods``,
``names``, the predictor.
"""
