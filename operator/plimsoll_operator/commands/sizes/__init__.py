"""Commands that show how sizes are decided: explain, models, report.

In: a request and the store. Out: a table, JSON or a file, and an exit status.
May import: ``views``, ``web``, ``commands.printing``, ``commands.reaching``.
"""
