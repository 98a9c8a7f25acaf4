"""Waste and failed attempts of every policy of memory, on public traces and synthetic tasks.

``make bench-sizes`` runs ``comparison.py``, which takes the other parts in and writes
bench-sizes.json; docs/replay.md has the tables. It also asks ``thesis`` and ``sap`` for their bars,
as processes. ``make bench-budgets`` runs ``error_budget.py``; ``slow_guard.py`` is run by hand;
both print. May import: ``bar``, ``public_traces``, Plimsoll.
"""
