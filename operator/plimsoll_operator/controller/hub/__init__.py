"""Carries what happened from the part that saw it to the parts that act on it.

Here are frozen events and their subscribers, and the habits that all parts share: reads of the
store that never give up, and a memory of keys that were met before.

In: events. Out: calls of subscribers, in order. May import: the predictor and pure folders.
"""
