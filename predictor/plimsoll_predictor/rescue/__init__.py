"""Rescue: a running attempt that is about to reach its limit gets more in time. Pure.

In: readings of an attempt's memory, the needs of its task's past, and the room around it. Out: when
it will reach its limit, and whether and how far its limit is raised. May import: ``core``.
"""
