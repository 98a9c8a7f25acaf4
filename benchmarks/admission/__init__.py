"""Admission beside kopf's own dispatch, at the same decisions: a part of ``make bench``.

``against_kopf.py`` prints its figures as JSON; ``readme`` writes them. The load and what is decided
serve ``scheduling`` and ``scale``, too. May import: Plimsoll, ``tests``.
"""
