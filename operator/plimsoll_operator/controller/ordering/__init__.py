"""Lets pods go that wait for their turn, and says whose pods may wait.

In: pods and nodes as they are seen, who slows whom, forecasts and policies. Out: gates removed, and
in the feed the tasks that are ordered. May import: ``controller.announcing``,
``controller.placing``, ``controller.tasks``, ``ordering``, ``kube``, ``feed``, the predictor.
"""
