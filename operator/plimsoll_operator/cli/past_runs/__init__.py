"""The commands of past runs: import, export (and forget), replay, traces.

In: words of a terminal. Out: a request for one function of ``commands.past_runs``.
May import: ``cli.options``, ``commands``; heavy modules only inside a function.
"""
