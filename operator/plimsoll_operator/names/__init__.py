"""How Plimsoll writes things in Kubernetes' objects: labels, quantities, conditions. Pure.

In and out: text and numbers. May import: the predictor's ``core``, and nothing of the operator.
"""
