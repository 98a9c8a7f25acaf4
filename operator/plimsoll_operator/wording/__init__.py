"""How figures, spans of time and forecasts are said to people. Pure.

In: numbers with units. Out: a few words. May import: the predictor.
"""
