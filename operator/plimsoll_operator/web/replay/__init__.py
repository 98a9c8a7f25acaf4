"""The page of `plimsoll replay --html`.

In: what a replay gave. Out: HTML. May import: ``web.report``, ``web.plots``.
"""
