"""Tokens, admission's certificate, and namespaces in the webhooks: the leader keeps them right.

In: Secrets and the webhook configuration as they are. Out: the same as they should be.
May import: ``kube``, ``policy``, ``profile.event_manifests``, ``wording``.
"""
