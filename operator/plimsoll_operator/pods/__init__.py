"""Reads a pod: whose attempt it is, what it asks, what is known before it starts. Pure.

In: a pod as a plain mapping, nothing in it trusted. Out: frozen records.
May import: ``names`` and the predictor. A workflow engine is added in ``engines.py``.
"""
