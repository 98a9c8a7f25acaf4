"""Lending: the part of its request that a running attempt of a task never seen does not use. Pure.

In: the running maxima of a node's attempts and the room of the node. Out: which requests are
lowered, to which size, and which are given back. May import: ``core``.
"""
