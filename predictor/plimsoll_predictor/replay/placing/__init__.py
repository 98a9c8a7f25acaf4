"""Plays jobs on nodes whose neighbours slow each other, by a matrix that the player knows.

In: a world (kinds, their work, which slows which), when jobs come, a policy of placing. Out: each
job's slowdown and wait. May import: ``core``, ``placing``.
"""
