"""Labels, quantities and conditions, as Kubernetes' objects hold them. Pure.

In and out: text and numbers. May import: the predictor's ``core``, and nothing of the operator.
"""
