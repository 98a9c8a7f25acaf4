"""What a run's features add to the forecast of its runtime, beyond the past: one more expert.

In: the request, the run's features, and the last runtimes of its task and owner. Out: how the
mixture's forecast moves. Serves with numpy alone; fitted with xgboost.
May import: ``core``.
"""
