"""Compares admission with kopf's own dispatch, at the same decisions: a part of ``make bench``.

``against_kopf.py`` prints its figures as JSON; ``readme`` writes them. ``scheduling`` and ``scale``
use the load and the inputs, too. May import: Plimsoll, ``tests``.
"""
