"""Rescue: a running pod that nears its limit is given more before the kernel kills it.

In: running pods, the agents' alarms. Out: raises through the API. May import: ``rescue`` (pure),
``controller.tasks``, ``controller.attempts``, ``controller.announcing``, ``kube``.
"""
