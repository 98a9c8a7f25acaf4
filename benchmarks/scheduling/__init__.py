"""The cost of choosing nodes: a scheduler's pods a second, an answer, a hint.

``make bench-scheduling`` runs ``throughput.py`` on the local cluster, which writes
bench-scheduling.json. ``extender.py`` and ``hints.py`` are run by hand, and print tables of
docs/placing.md. May import: ``admission``, Plimsoll, ``tests``, ``deploy``.
"""
