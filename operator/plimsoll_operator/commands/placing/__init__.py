"""The command that shows which tasks get along on a node: placing.

In: a request and the store. Out: a table or JSON, and an exit status.
May import: ``views``, ``wording``, ``commands.printing``, ``commands.reaching``.
"""
