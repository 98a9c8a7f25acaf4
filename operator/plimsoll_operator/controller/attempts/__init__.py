"""The ledger of attempts: each end observed once, lifted, retried; peaks that come late.

In: watched pods. Out: observations, lifts and retries, each committed before it takes effect.
May import: ``attempts`` (pure) and the controller's other folders but ``waiting``.
"""
