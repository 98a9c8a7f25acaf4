"""Plots as SVG: axes, ticks, marks.

In: records of ``views``. Out: SVG. May import: ``views``, ``wording``.
"""
