"""The command `plimsoll status` says whether Plimsoll is healthy, and what it does.

``cluster_reader`` asks the API, ``cluster_state`` holds its answers; the rest is pure.

In: objects of the API. Out: findings and what to do next.
May import: ``kube``, ``commands.printing``, ``commands.reaching``.
"""
