"""The functions that kopf calls: one watcher of pods, and handlers of the two CRDs.

In: events of the API. Out: calls of the controller. May import: ``controller``, ``names``.
"""
