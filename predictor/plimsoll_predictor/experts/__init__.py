"""Ways to size a task that compete online; the cheapest so far serves. Pure.

In: lessons, in the order in which they happened. Out: bids, and which expert serves.
May import: ``knowledge``, ``model``, ``core``. An expert is added in ``panel.py``.
"""
