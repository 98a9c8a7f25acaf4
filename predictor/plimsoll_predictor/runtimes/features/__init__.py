"""What a run's features say of its runtime, beyond what ran before: one more expert.

In: what was asked, the run's features, and what its task and owner took last. Out: how the
mixture's forecast moves. Serves with numpy alone; fitted with xgboost.
May import: ``core``.
"""
