"""The predictor: what is learned about tasks, and what is decided from it.

No Kubernetes in it: ``store`` and ``tables`` touch disks and databases, the rest is pure.
Folders stand in layers, and imports go down only (`.importlinter` has the order).
"""
