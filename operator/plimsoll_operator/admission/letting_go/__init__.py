"""Lets pods go that wait for their turn when no leader is there to do it.

In: the Lease, and pods that have no node. Out: gates removed, and whether new ones may be made. It
asks the API server in the background, never to answer a request. May import: ``admission.metrics``,
``credentials``, ``ordering``, ``pods``, ``names``, ``kube.errors``.
"""
