"""Replays lending: cold runs of a trace on a few full nodes, with and without it. Pure.

In: past runs, how their memory is assumed to grow, and the nodes. Out: how long it takes, how much
is reserved and not used, and what went wrong. May import: ``core``, ``lending``, ``replay.sizes``.
"""
