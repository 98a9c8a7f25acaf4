"""The local cluster's node with Plimsoll on it, pods that grow, Jobs: tools for benchmarks on it.

No target of its own: ``live``, ``rescue``, ``campaigns`` and ``split`` measure with it. May import:
Plimsoll, ``tests``, ``deploy``.
"""
