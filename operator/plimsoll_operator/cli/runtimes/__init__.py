"""The commands of runtimes: forecast, sla, what-if, shapes.

In: words of a terminal. Out: a request for one function of ``commands.runtimes``.
May import: ``cli.options``, ``commands``; heavy modules only inside a function.
"""
