"""The tables of the thesis behind Plimsoll, on SYNTHETIC data of its situation.

``make bench-thesis`` runs ``comparison.py``, which prints them with the thesis's own figures
(docs/thesis.md), and writes a file if ``--json`` names one. ``campaigns`` takes tasks from here.
May import: Plimsoll.
"""
