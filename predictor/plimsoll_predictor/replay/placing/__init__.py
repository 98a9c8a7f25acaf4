"""Plays jobs on nodes whose neighbours slow each other, by a matrix that is known to the player.

In: a world (kinds, their work, who slows whom), when jobs come, a policy of placing. Out: each
job's slowdown and wait. May import: ``core``, ``placing``.
"""
