"""The commands that show how work is split: split, of Jobs over items, and spark, of event logs.

In: a request, and the store or files. Out: a table or JSON, and an exit status.
May import: ``views``, ``names``, ``wording``, ``spark_history``, ``commands.printing``,
``commands.reaching``.
"""
