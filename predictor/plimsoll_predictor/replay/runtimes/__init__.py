"""How well runtimes would have been forecast on a log of past runs.

In: a log. Out: scores of each method. May import: ``runtimes``, ``tables``, ``core``.
"""
