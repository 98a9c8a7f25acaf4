"""Waste and failed attempts of every policy of memory, on public traces and synthetic tasks.

``make bench-sizes`` runs ``comparison.py``, which includes the other parts and writes
bench-sizes.json; docs/replay.md has the tables. It also runs ``thesis`` and ``sap`` as processes,
for their bars. ``make bench-budgets`` runs ``error_budget.py``; ``slow_guard.py`` is run by hand;
both print. May import: ``bar``, ``public_traces``, Plimsoll.
"""
