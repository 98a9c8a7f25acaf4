"""The knowledge of one task when its pod is decided: rule, ladder, experts' names. Pure.

The feed carries it, and the store keeps it.

In and out: frozen records. May import: ``model``, ``core``.
"""
