"""Lets go pods that wait for their turn, where nobody leads who would.

In: the Lease, and pods that have no node. Out: gates removed, and whether new ones may be made. It
asks the API server beside the answers, never for one. May import: ``admission.metrics``,
``credentials``, ``ordering``, ``pods``, ``names``, ``kube.errors``.
"""
