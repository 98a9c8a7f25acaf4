"""What happened, carried from the part that saw it to the parts that follow from it.

Frozen events and their subscribers, and the few habits that all parts share: reads of the store
that never give up, a memory of what was met before, a loop that folds and saves.

In: events. Out: calls of subscribers, in order. May import: the predictor and pure folders.
"""
