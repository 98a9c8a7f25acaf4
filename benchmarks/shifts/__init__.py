"""How much it saves to notice that a task has changed, on public traces cut and joined.

``make bench-shifts`` runs ``comparison.py``, which prints the table of docs/drift.md, and writes a
file if ``--json`` names one. May import: ``sizes``, ``public_traces``, Plimsoll.
"""
