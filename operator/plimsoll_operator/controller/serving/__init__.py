"""What the controller answers over HTTP: peaks, the page; the feed has its own routes.

In: requests. Out: answers. May import: ``web``, ``controller.attempts``, ``controller.tasks``.
"""
