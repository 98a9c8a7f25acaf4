"""Shapes of runtimes on public logs: whether the next one is forecast right, and the pictures.

``make bench-forecast`` includes ``logs.py``, which by itself prints the tables of docs/shapes.md
and, with ``--images``, draws its pictures. May import: ``public_traces``, Plimsoll.
"""
