"""Lending: what a running attempt of a task never seen asks for and does not use. Pure.

In: the running maxima of a node's attempts and the room of the node. Out: whose request is lowered,
to which size, and whose is given back. May import: ``core``.
"""
