"""How much memory a way of sizing would have wasted on past runs.

In: a trace. Out: waste and failed attempts of each policy.
May import: ``experts``, ``deciding``, ``tables``, ``core``.
"""
