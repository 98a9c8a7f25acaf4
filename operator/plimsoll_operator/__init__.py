"""Plimsoll's operator: Kubernetes around the predictor."""
