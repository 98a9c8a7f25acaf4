"""The one client of the Kubernetes API, its errors, its log-in and Plimsoll's own objects.

In: objects as plain mappings. Out: the same, or an error that says what follows from it.
May import: ``names``.
"""
