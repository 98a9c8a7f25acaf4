"""Runtimes of runs: forecasts, typical shapes, and effects of other conditions. Pure.

May import: ``core``.
"""
