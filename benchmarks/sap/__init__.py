"""A company's software builds as a second kind of workload, compared with other approaches.

``make bench-sap`` runs ``comparison.py``, which prints the table of docs/sap.md, and writes a file
if ``--json`` names one. May import: Plimsoll.
"""
