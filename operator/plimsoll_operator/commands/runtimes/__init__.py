"""Commands that show how long runs take: forecast, sla, what-if, shapes.

In: a request and the store. Out: a table or JSON, and an exit status.
May import: ``views``, ``commands.printing``, ``commands.reaching``.
"""
