"""A campaign's page: how the need depends on each feature, bins, what sizing would save.

In: records of ``views``. Out: HTML. May import: ``web.report``, ``web.plots``, ``views``.
"""
