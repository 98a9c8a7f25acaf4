"""Records of what was learned: lessons, standings, models, trainings, forecasts.

One module per table or two; each function works within the caller's transaction.
May import: ``store.attempts``, ``store.database``, ``experts``, ``runtimes``, ``campaigns``,
``core``.
"""
