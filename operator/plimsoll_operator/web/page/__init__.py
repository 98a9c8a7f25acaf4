"""The page that the controller serves: all tasks, and one task.

In: a query. Out: HTML or JSON. May import: ``web.report``, ``web.plots``, ``views``.
"""
