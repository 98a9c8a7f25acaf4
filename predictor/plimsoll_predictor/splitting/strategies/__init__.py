"""Strategies of splitting, all behind one interface: the one in use, and those to compare with.

In: a job, and what its chunks took. Out: how many items the next chunk has. To add one, write a
module here and name it in ``catalogue``. Only ``gaussian`` needs more than numpy. May import: the
other modules of ``splitting``.
"""
