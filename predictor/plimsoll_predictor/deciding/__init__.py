"""The decision: what an attempt gets, and the lift after an OOM kill. Pure.

In: the knowledge of a task, a request, features. Out: a Decision with its reason.
May import: ``experts``, ``knowledge``, ``model``, ``core``.
"""
