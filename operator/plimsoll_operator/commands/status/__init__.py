"""The command `plimsoll status`: is Plimsoll healthy, and what does it do.

``reading`` asks the API, ``seen`` holds what it answered, the rest is pure: checks, tasks, tables.

In: objects of the API. Out: findings and what to do next.
May import: ``kube``, ``commands.printing``, ``commands.reaching``.
"""
