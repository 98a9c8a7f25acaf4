"""TaskProfiles: which tasks have one, what their status is made of, when it is written.

In: marks of tasks that changed. Out: patches of statuses. May import: ``controller.runtimes``,
``controller.tasks``, ``controller.announcing``, ``profile``, ``kube``.
"""
