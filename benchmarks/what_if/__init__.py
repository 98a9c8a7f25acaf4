"""How far a what-if of runtimes can be trusted, on made-up tasks of known truth and on logs.

``make bench-forecast`` takes in ``coverage.py``, which alone prints the tables of docs/what-if.md.
May import: Plimsoll.
"""
