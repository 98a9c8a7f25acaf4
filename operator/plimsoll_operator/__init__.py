"""The operator: everything that touches Kubernetes, a network, a disk or a clock.

Folders stand in layers, and imports go down only (`.importlinter` has the order):
``cli`` and ``processes`` on top, the pure folders at the bottom, the predictor below all.

The files beside the folders start the command line. May import: ``cli``.
"""
