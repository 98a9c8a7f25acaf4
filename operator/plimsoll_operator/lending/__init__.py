"""Lending: running pods that may lend the requested memory that they do not use. Pure.

In: a pod as the API server gives it, and its task's policy. Out: why it may not lend, and the
annotation that says what it asked for. May import: ``pods``, ``names``, ``sizing``, ``attempts``,
``plimsoll_predictor``.
"""
