"""A task's model as it serves: features, bins, trees. Pure, numpy only.

In: features of one attempt. Out: the chance of each bin, or a quantile of the need.
May import: ``core``.
"""
