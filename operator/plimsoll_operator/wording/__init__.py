"""Words for figures, spans of time and forecasts. Pure.

In: numbers with units. Out: a few words. May import: the predictor.
"""
