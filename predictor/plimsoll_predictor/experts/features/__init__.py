"""What features say about a task's need: its runs as a table, and the curves fitted to them. Pure.

In: a task's runs. Out: fitted lines and curves, and how far the runs lay from them.
May import: ``knowledge``, ``core``. A new family of curves is added in ``curves.py``.
"""
