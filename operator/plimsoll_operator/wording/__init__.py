"""Words for people: of figures, spans of time, forecasts and Events. Pure.

In: numbers with units. Out: a few words. May import: the predictor.
"""
