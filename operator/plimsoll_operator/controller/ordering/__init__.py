"""Releases pods that wait for their turn, and says which tasks' pods may wait.

In: pods and nodes as they are seen, slowdowns between tasks, forecasts and policies. Out: gates
removed, and in the feed the tasks that are ordered. May import: ``controller.announcing``,
``controller.placing``, ``controller.tasks``, ``ordering``, ``kube``, ``feed``, the predictor.
"""
