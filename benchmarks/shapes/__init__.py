"""Shapes of runtimes on public logs: whether the next is foretold, and the pictures.

``make bench-forecast`` takes in ``logs.py``, which alone prints the tables of docs/shapes.md and,
with ``--images``, draws its pictures. May import: ``public_traces``, Plimsoll.
"""
