"""How long runs take: forecasts, typical shapes, what other conditions change. Pure.

May import: ``core``.
"""
