"""The controller's answers over HTTP: peaks and the page. The feed has its own routes.

In: requests. Out: answers. May import: ``web``, ``controller.attempts``, ``controller.tasks``.
"""
