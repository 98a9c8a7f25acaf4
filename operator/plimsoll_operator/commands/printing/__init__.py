"""How commands print: tables, JSON, YAML, progress.

In: rows and plain data. Out: text on a terminal. May import: nothing of Plimsoll but ``wording``.
"""
