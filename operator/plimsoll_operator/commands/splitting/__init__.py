"""The commands that show how work is split: split, for Jobs over items; spark, for event logs.

In: a request, and the store or files. Out: a table or JSON, and an exit status; a TaskProfile's
field, if a log is to teach a task.
May import: ``views``, ``names``, ``wording``, ``spark_history``, ``kube``, ``commands.printing``,
``commands.reaching``, ``commands.modes``.
"""
