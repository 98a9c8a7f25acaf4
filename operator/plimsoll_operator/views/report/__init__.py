"""What the report shows about all tasks: their figures, points and lifts, gathered and counted.

In: the store. Out: frozen records that the report file and the page draw from.
May import: ``views``, and what ``views`` may.
"""
