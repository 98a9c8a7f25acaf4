"""Decides which of several controllers acts, by the Lease, the watchdog and a probe.

In: a Lease and a clock. Out: the right to act, or the process's end. May import: ``kube``.
"""
