"""Reads a pod: its task and run, its requests, its features, its status. Pure.

In: a pod as a plain mapping, nothing in it trusted. Out: frozen records.
May import: ``names`` and the predictor. A workflow engine is added in the folder
``engines``.
"""
