"""Tokens, admission's certificate, and namespaces in the webhooks: kept right by the leader.

In: Secrets and the webhook configuration as they are. Out: the same as they should be.
May import: ``kube``, ``policy``, ``profile.events``.
"""
