"""The commands that show how work is split: split, of Jobs over items, and spark, of event logs.

In: a request, and the store or files. Out: a table or JSON, and an exit status; a TaskProfile's
field, where a log is to teach a task.
May import: ``views``, ``names``, ``wording``, ``spark_history``, ``kube``, ``commands.printing``,
``commands.reaching``, ``commands.modes``.
"""
