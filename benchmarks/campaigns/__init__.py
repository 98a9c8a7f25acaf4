"""How many runs of a campaign teach a task's sizes, in either order.

``make bench-campaigns`` runs ``simulation.py`` on synthetic tasks, ``make bench-campaigns-node``
runs ``node.py`` on the real node while processes are killed. Both write into bench-scale.json.
May import: ``thesis``, ``scale`` (its file), ``real_node``, Plimsoll, ``tests``, ``demo``.
"""
