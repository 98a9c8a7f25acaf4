"""Lending: running pods whose request is lowered in place, and raised again.

In: running pods, the agents' maxima and the agents' beats. Out: resizes through the API.
May import: ``lending`` (pure), ``controller.tasks``, ``controller.attempts``,
``controller.announcing``, ``kube``.
"""
