"""The figures of README.md, each with its bound: ``make bench``.

``figures.py`` runs the others, and ``admission.against_kopf``, as processes of their own, and
writes bench-results.json. May import: Plimsoll, ``tests``.
"""
