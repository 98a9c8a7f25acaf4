"""Workflow engines: one row each, which reads its task, run and attempts from a pod. Pure.

In: a pod and its labels. Out: an ``EngineRun``. An engine is added as a row in a module of its
family, named in ``table.py``, with tasks of its own in ``tests/builders/engines``. May import:
``names``, and nothing else of the operator.
"""
