"""One past run, as forecasts, shapes and what-ifs read it.

In and out: frozen records. May import: ``runtimes.features``, ``tables``, ``core``.
"""
