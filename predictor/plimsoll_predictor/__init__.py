"""Plimsoll's predictor: pure decisions about sizes. No Kubernetes, no network, no clock."""
