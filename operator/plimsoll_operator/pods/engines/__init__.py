"""Workflow engines: one row each, which reads its task, run and attempts from a pod. Pure.

In: a pod and its labels. Out: an ``EngineRun``. To add an engine, write a row in a module of its
family, name it in ``table.py``, and add tasks of its own to ``tests/builders/engines``. May import:
``names``, and nothing else of the operator.
"""
