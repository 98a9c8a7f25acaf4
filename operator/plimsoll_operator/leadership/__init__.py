"""Which of several controllers acts: the Lease, the watchdog, the database's probe.

In: a Lease and a clock. Out: the right to act, or the process's end. May import: ``kube``.
"""
