"""Labels, names, quantities and conditions, as Kubernetes' objects hold them. Pure.

In and out: text, numbers and plain mappings. May import: the predictor's ``core``, and nothing of
the operator.
"""
