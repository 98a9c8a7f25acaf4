"""Events on pods and TaskProfiles: sent in the background, within a budget.

In: what happened. Out: Events at the API server. May import: ``profile``, ``kube``,
``controller.hub``.
"""
