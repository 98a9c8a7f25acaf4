"""The one client of the Kubernetes API, its errors, its log-in and Plimsoll's own objects.

In and out: objects as plain mappings. An error's class says how a caller can react.
May import: ``pods``, ``names``.
"""
