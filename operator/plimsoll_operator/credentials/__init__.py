"""Tokens and admission's certificate: made, published and mended by the leader.

In: Secrets as they are. Out: Secrets as they should be. May import: ``kube``, ``profile.events``.
"""
