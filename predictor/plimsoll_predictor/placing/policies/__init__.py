"""Policies of placing, all behind one interface: ours, and those that it is compared with.

In: jobs that wait, by place of their kind, and the tasks on the nodes that have room. Out: which
job goes where. To add one, write a module here and name it in ``catalogue``. May import: ``core``,
and the other modules of ``placing``.
"""
