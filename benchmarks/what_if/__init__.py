"""How far a what-if of runtimes can be trusted, on made-up tasks of known truth and on logs.

``make bench-forecast`` includes ``coverage.py``, which by itself prints docs/what-if.md's tables.
May import: Plimsoll.
"""
