"""TaskProfiles: which tasks have one, what their status shows, and when it is written.

In: marks of tasks that changed. Out: patches of statuses. May import: ``controller.runtimes``,
``controller.tasks``, ``controller.announcing``, ``profile``, ``kube``.
"""
