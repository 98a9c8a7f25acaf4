"""Late binding: pods that still wait are decided again and resized.

In: waiting pods and tasks that learned. Out: resizes through the API.
May import: ``late_binding`` (pure), ``controller.tasks``, ``controller.announcing``, ``kube``.
"""
