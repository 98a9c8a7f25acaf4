"""Splitting: how a new Job over items is cut, and what a new driver of Spark is given. Pure.

In: a Job as the API server gives it, and what its task's chunks took; a pod, and what is known of
its application. Out: the patch, or words for why it is left as written. May import: ``sizing``,
``policy``, ``pods``, ``names``, the predictor.
"""
