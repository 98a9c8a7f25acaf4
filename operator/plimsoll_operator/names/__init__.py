"""How Plimsoll writes things in Kubernetes' objects: labels, quantities, names. Pure.

In and out: text and numbers. May import: nothing of the operator.
"""
