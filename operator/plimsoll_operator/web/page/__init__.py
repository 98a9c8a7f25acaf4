"""The page that the controller serves: all tasks, one task, one campaign.

In: a query. Out: HTML or JSON. May import: ``web.campaign``, ``web.report``, ``web.plots``,
``views``.
"""
