"""Carries what happened from the part that saw it to the parts that act on it.

Here are frozen events and their subscribers, and the habits that all parts share: reads of the
store that never give up, a memory of what was met before, a loop that folds and saves.

In: events. Out: calls of subscribers, in order. May import: the predictor and pure folders.
"""
