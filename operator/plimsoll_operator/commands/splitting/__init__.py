"""The command that shows how Jobs over items are cut: split.

In: a request and the store. Out: a table or JSON, and an exit status.
May import: ``views``, ``names``, ``wording``, ``commands.printing``, ``commands.reaching``.
"""
