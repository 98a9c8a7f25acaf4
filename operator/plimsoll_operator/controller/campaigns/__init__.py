"""Profiling campaigns: looked at every few seconds, and brought one step further.

In: ProfilingCampaigns, their Jobs, the store. Out: Jobs, statuses, trainings that are due.
May import: the hub and ``controller.tasks``, ``plimsoll_operator.campaigns``, ``kube``, the store.
"""
