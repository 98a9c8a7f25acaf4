"""The controller's answers over HTTP: the page, and what agents ask and tell.

That is peaks, alarms, grants, and what nodes use. The feed has its own routes.

In: requests. Out: answers. May import: ``web``, ``controller.attempts``, ``controller.tasks``.
"""
