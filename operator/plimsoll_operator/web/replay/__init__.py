"""The page of `plimsoll replay --html`.

In: a replay's results. Out: HTML. May import: ``web.report``, ``web.plots``.
"""
